/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a workload file (workload.h): the columns' names, and a kernel each. */
#ifndef GPUSHARE_SIM_LINE_H
#define GPUSHARE_SIM_LINE_H

#include "gpushare/sim/workload.h"

#define SIM_COLUMNS 10

struct sim_line {
	const char *file; /* for messages */
	size_t number;    /* from 1 */
	const char *text; /* without its end */
	size_t len;
};

/* Which columns the file has, left to right. */
struct sim_columns {
	unsigned char column[SIM_COLUMNS];
	size_t count;
};

/* -1, with "file:line:column: why". */
int sim_line_fail(const struct sim_line *line, size_t column, struct gs_error *err,
		  const char *why);

/* 0, or -1 with that. */
int sim_line_columns(const struct sim_line *line, struct sim_columns *columns,
		     struct gs_error *err);

/* The same; *name_at: the column that the kernel's name begins in. */
int sim_line_kernel(const struct sim_line *line, const struct sim_columns *columns,
		    struct sim_kernel *kernel, size_t *name_at, struct gs_error *err);

#endif
