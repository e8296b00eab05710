/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of `gpusharectl top`: what each step had of the time between two answers.  Pure. */
#ifndef GPUSHARE_CTL_TOP_ROWS_H
#define GPUSHARE_CTL_TOP_ROWS_H

#include <jansson.h>

/* Give each step of `now` gpu_pct, wait_pct and copy_gib_s: its part of the time since `before`,
 * which may be NULL. */
void gs_top_parts(json_t *now, json_t *before);

/*
 * The steps in whose job id, step, user, partition or state the text is, whatever its case; "": all
 * of them.  A new array, or NULL: no memory.
 */
json_t *gs_top_filter(json_t *steps, const char *text);

/* A row per user (users.def) of rows with their parts.  A new array, or NULL: no memory. */
json_t *gs_top_users(json_t *steps);

#endif
