/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CUDA C source as tokens, with its macros, and without what #if and its like
 * leave out.  Pure but for mem_source_load, which reads the file and what it
 * includes by quotes.
 */
#ifndef GPUSHARE_MEM_LEX_H
#define GPUSHARE_MEM_LEX_H

#include "common/error.h"
#include "gpushare/mem/token.h"

/* Tokens of a text, as of a file of this name.  0; -1: no memory. */
int mem_source_add(struct mem_source *source, const char *name, const char *text,
		   struct gs_error *err);

/* The same for a file and what it includes by "...".  -1 with the reason. */
int mem_source_load(struct mem_source *source, const char *path, struct gs_error *err);

/* NAME or NAME=VALUE, as of a compiler's -D: it wins over the source's.  0 or -1. */
int mem_source_define(struct mem_source *source, const char *text, struct gs_error *err);

void mem_source_free(struct mem_source *source);

#endif
