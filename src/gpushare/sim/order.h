/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which kernel arrives when, round by round: the same for every policy, on
 * every machine, and for the live runs of gpushare-bench.
 */
#ifndef GPUSHARE_SIM_ORDER_H
#define GPUSHARE_SIM_ORDER_H

#include "gpushare/sim/workload.h"

/* When kernel number `kernel` of the workload arrives. */
struct sim_arrival {
	uint64_t at_ns;
	uint32_t kernel;
};

struct sim_order {
	uint64_t seed;
	uint64_t gap_ns; /* arrivals this far apart, if has_gap; else the file's */
	int has_gap;
	int shuffle; /* which kernel arrives when is drawn anew for every round */
};

/* 0, or -1 with err where the last of so many kernels would arrive beyond what can be counted in
 * ns. */
int sim_order_check(const struct sim_order *order, uint64_t kernels, struct gs_error *err);

/*
 * The file's order, by time, into arrival[workload->count]; *state is where
 * the drawing stands, for sim_order_next().
 */
void sim_order_first(const struct sim_order *order, const struct sim_workload *workload,
		     struct sim_arrival *arrival, uint64_t *state);

/* Before every round, the first included: draw who arrives when; the times stay. */
void sim_order_next(const struct sim_order *order, struct sim_arrival *arrival, size_t count,
		    uint64_t *state);

#endif
