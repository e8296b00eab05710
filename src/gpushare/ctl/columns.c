/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of columns.h. */
#include "gpushare/ctl/columns.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define ONE(key, kind, rank, head, words) { #key, head, words, GS_KIND_##kind, rank },
#define COLUMN(key, type, kind, rank, head, words) ONE(key, kind, rank, head, words)
#define SUM(key, type, kind, rank, head, words) ONE(key, kind, rank, head, words)
#define GROUP(key, type, kind, rank, head, value, join, words) ONE(key, kind, rank, head, words)
#define GPU_COLUMN(key, kind, rank, head, value, words) ONE(key, kind, rank, head, words)
#define UNMANAGED(key, kind, rank, head, value, words) ONE(key, kind, rank, head, words)
#define MEMORY(key, kind, rank, head, value, words) ONE(key, kind, rank, head, words)
#define TOP(key, kind, rank, head, words) ONE(key, kind, rank, head, words)
#define USER(key, kind, rank, head, words) ONE(key, kind, rank, head, words)
#define END \
	{ \
		NULL, NULL, NULL, GS_KIND_TEXT, 0 \
	}

const struct gs_column gs_columns_steps[] = {
#include "gpushare/columns/steps.def"
	END,
};

const struct gs_column gs_columns_gpus[] = {
#include "gpushare/columns/gpus.def"
	END,
};

const struct gs_column gs_columns_unmanaged[] = {
#include "gpushare/columns/unmanaged.def"
	END,
};

const struct gs_column gs_columns_groups[] = {
#include "gpushare/columns/groups.def"
	END,
};

const struct gs_column gs_columns_memory[] = {
#include "gpushare/columns/memory.def"
	END,
};

/* What the last two intervals of top tell, and then all of a step's. */
const struct gs_column gs_columns_top[] = {
#include "gpushare/columns/top.def"
#include "gpushare/columns/steps.def"
	END,
};

const struct gs_column gs_columns_users[] = {
#include "gpushare/columns/users.def"
	END,
};

/* kernels.def has two lists in it. */
#undef SUM
const struct gs_column gs_columns_kernels[] = {
#include "gpushare/columns/kernels.def"
	END,
};

#undef COLUMN
#define SUM(key, type, kind, rank, head, words) ONE(key, kind, rank, head, words)
const struct gs_column gs_columns_sums[] = {
#include "gpushare/columns/kernels.def"
	END,
};

static int is_name(const char *name, const char *key, unsigned length)
{
	return strlen(name) == length && strncasecmp(name, key, length) == 0;
}

const struct gs_column *gs_column_find(const struct gs_column *c, const char *key, unsigned length)
{
	const struct gs_column *at;

	for (at = c; at->key; at++)
		if (is_name(at->key, key, length))
			return at;
	for (at = c; at->key; at++)
		if (is_name(at->head, key, length))
			return at;
	return NULL;
}
