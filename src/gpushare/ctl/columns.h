/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of each table, from gpushare/columns; an entry without a key ends each list. */
#ifndef GPUSHARE_CTL_COLUMNS_H
#define GPUSHARE_CTL_COLUMNS_H

#include "gpushare/columns/kinds.h"

struct gs_column {
	const char *key, *head, *words;
	enum gs_kind kind;
	unsigned rank; /* where not all fit, the smallest are shown */
};

extern const struct gs_column gs_columns_steps[], gs_columns_gpus[], gs_columns_unmanaged[],
	gs_columns_kernels[], gs_columns_sums[], gs_columns_groups[], gs_columns_memory[],
	gs_columns_top[], gs_columns_users[];

/* The one of that name or, if none has it, of that heading, of so many bytes, in capitals or not;
 * NULL: there is none. */
const struct gs_column *gs_column_find(const struct gs_column *columns, const char *key,
				       unsigned length);

#endif
