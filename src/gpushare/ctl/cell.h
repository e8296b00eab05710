/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of the daemon's JSON as people read them.  Pure, but for the date of today. */
#ifndef GPUSHARE_CTL_CELL_H
#define GPUSHARE_CTL_CELL_H

#include <jansson.h>
#include <stddef.h>

#include "gpushare/columns/kinds.h"

/*
 * The cell, to be freed; "-" for null and "".  brief: times are as short as can be, "18:28:01" of
 * today and "Nov 26" before.  Bytes that would steer a terminal are '?', since a user names kernels
 * and programs.  NULL: no memory.
 */
char *gs_cell(enum gs_kind kind, json_t *value, int brief);

/* Figures stand right, and are never cut. */
int gs_kind_is_figure(enum gs_kind kind);

/* How many columns of a terminal the text takes: its characters, not its bytes. */
size_t gs_text_width(const char *text);

/* "250ms", "4.17s", "12:34", "5:04:03", "2-05:04:03", as squeue has them from a minute on. */
void gs_print_duration(char *buf, size_t size, double seconds);

#endif
