/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One mix under all the ways that are asked for. */
#ifndef GPUSHARE_BENCH_MIXES_RUN_H
#define GPUSHARE_BENCH_MIXES_RUN_H

#include "gpushare/bench/mixes_workers.h"

#define MIXES_POLICIES_MAX 24

struct mixes_run {
	struct bench_stage *stage;
	struct mixes_setup setup;
	int way[MIXES_WAYS];                    /* is it asked for? */
	const char *policy[MIXES_POLICIES_MAX]; /* of gpushare; the first is the default one */
	size_t policies;
	unsigned rounds;
	uint64_t seconds_ns, skip_ns;             /* of a window, before it */
	struct mixes_speed alone[MIXES_PROGRAMS]; /* what is known so far, by mixes_alone() */

	/* What was measured. */
	struct mixes_row *row;
	size_t count;
	unsigned failures;
};

/* Measure the mix and add its rows.  -1: no memory, or interrupted; what fails otherwise is said by
 * its row. */
int mixes_measure(struct mixes_run *run, const struct mixes_mix *mix, struct gs_error *err);

#endif
