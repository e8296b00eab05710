/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of gpushare-bench slices. */
#ifndef GPUSHARE_BENCH_SLICES_VERB_H
#define GPUSHARE_BENCH_SLICES_VERB_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/slices_figures.h"
#include "gpushare/bench/workers.h"

#define SLICES_ROWS_MAX (64 * BENCH_LENGTHS_MAX)

struct slices {
	struct bench_common common;
	const char *folder, *only;
	struct bench_lengths target;
	uint64_t length_ns;
	uint32_t runs, limit_s;

	struct bench_workers workers; /* one program, without gpushare */
	uint64_t until_ns;            /* what would end later is left out */
	FILE *csv;
	struct slices_row *row; /* SLICES_ROWS_MAX */
	size_t rows, left_out, wrong;
};

/* The heading of the table and of the CSV, a row, and what follows the rows. */
void slices_head(const struct slices *s);
void slices_print(const struct slices *s, const struct slices_row *row);
void slices_summary(const struct slices *s);

#endif
