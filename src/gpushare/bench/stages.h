/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of an eviction goes, from the launch that causes it to that
 * launch's end:
 *
 *	asked  the other program launches          -> gpushared decides      host, host
 *	told   gpushared decides                   -> the order is written   gpushared
 *	left   the order is written                -> the last block-task ends   gpushared, device
 *	seen   the last block-task ends            -> gpushared sees it gone     device, gpushared
 *	begun  gpushared sees it gone              -> the other's kernel is over, less its time
 *alone
 *
 * The device's clock is brought to the host's by asking for it before and after.
 */
#ifndef GPUSHARE_BENCH_STAGES_H
#define GPUSHARE_BENCH_STAGES_H

#include "gpushare/bench/measure.h"

enum bench_stage_of {
	BENCH_REQUESTED,
	BENCH_TOLD,
	BENCH_LEFT,
	BENCH_SEEN,
	BENCH_BEGUN,
	BENCH_STAGES
};

/* Quantiles of one stage, or of the whole from the decision to the client seen gone. */
struct bench_spread {
	double p50, p90, p99; /* ns */
	size_t count;
};

/* Samples, all in ns; an eviction lacks a stage that cannot be known of it. */
struct bench_stages {
	double *ns[BENCH_STAGES + 1]; /* the last: the whole */
	size_t count[BENCH_STAGES + 1], room;
	uint64_t clock_error_ns; /* the worst reading of the device's clock */
};

const char *bench_stage_name(enum bench_stage_of stage);

int bench_stages_init(struct bench_stages *stages, size_t room, struct gs_error *err);
void bench_stages_fini(struct bench_stages *stages);

/*
 * Add the evictions since since_ns of program `evicted`, whose last launch is
 * over, by program `other`, whose kernel takes alone_ns.  `before` is the
 * device's clock as program `evicted` read it before that launch.
 */
int bench_stages_add(struct bench_stages *stages, struct bench_workers *workers, uint32_t evicted,
		     uint32_t other, uint64_t since_ns, uint64_t alone_ns,
		     const struct bench_clock *before, struct gs_error *err);

struct bench_spread bench_stages_spread(struct bench_stages *stages, unsigned stage);

#endif
