/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the records of windows to a row. */
#ifndef GPUSHARE_BENCH_MIXES_TOTALS_H
#define GPUSHARE_BENCH_MIXES_TOTALS_H

#include "gpushare/bench/mixes_workers.h"

struct mixes_totals {
	struct mixes_row row; /* sums, until it is closed */
	double *latency;      /* of requests, ns */
	size_t latencies;
};

/* What the first program of that side did in the window, alone. */
struct mixes_speed mixes_alone(const struct mixes_workers *workers, uint32_t side,
			       const struct mixes_window *window);

/* Add a window of all workers; alone: what one program of each side does alone.  -1: no memory. */
int mixes_totals_add(struct mixes_totals *totals, const struct mixes_workers *workers,
		     const struct mixes_window *window, const struct mixes_speed alone[2],
		     struct gs_error *err);

/* The row is right from here on. */
void mixes_totals_close(struct mixes_totals *totals);

#endif
