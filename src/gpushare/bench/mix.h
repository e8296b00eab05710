/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-bench mix, inside: what mix_verb.c measures and mix_report.c writes. */
#ifndef GPUSHARE_BENCH_MIX_H
#define GPUSHARE_BENCH_MIX_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/metrics/timeline.h"
#include "gpushare/sim/experiment.h"

/* gpushared is asked so often at most. */
#define MIX_REQUESTED_MAX 64

/* What gpushared believed after one of the rounds. */
struct mix_belief {
	uint64_t handover_ns;
	uint64_t alone_ns[BENCH_PROGRAMS_MAX]; /* of each program; 0: it did not know */
};

/* The programs under one way of sharing. */
struct mix_result {
	struct bench_way way;
	unsigned rounds;     /* measured; fewer than were wanted after an interrupt */
	struct sim_row *row; /* by kernel */
	struct sim_summary live, sim;
	int has_sim;
	double alone_ratio;     /* time alone under this way by time alone under the driver,
				 * geometric mean over the programs */
	uint64_t wrong;         /* block-tasks that did not run exactly once */
	uint64_t handover_ns;   /* median gap between two programs; 0: none seen */
	struct sim_costs costs; /* the same by kind */
	struct mix_belief belief[MIX_REQUESTED_MAX]; /* gpushared's, in the order of the rounds */
	size_t beliefs;
	uint64_t taken_ns;                    /* what it took a hand-over for, in the median */
	uint64_t told_ns[BENCH_PROGRAMS_MAX]; /* what it took each for alone, in the mean; 0: it
						 does not know */
	uint64_t gpu_ns[BENCH_PROGRAMS_MAX];  /* what each kept the GPU busy with per launch, in the
						 mean */
	struct gs_span *span;                 /* of the first round, lane: kernel */
	size_t spans;
	uint64_t origin_ns; /* of its first arrival */
};

struct mix {
	struct bench_common common;
	struct sim_workload workload; /* length_ns: alone, measured; block_tasks: waves */
	struct bench_part part[BENCH_PROGRAMS_MAX];
	struct sim_order order;
	unsigned rounds;
	uint32_t alone;   /* launches of each program alone */
	uint64_t task_ns; /* wanted */
	double scale;     /* of the lengths in the file */
	int has_handover; /* of the simulator: given, not measured */
	uint64_t handover_ns;

	struct bench_workers workers;
	struct bench_yard yard;
	uint64_t sum_ns;
};

/* How the GPU came from one program to another that was waiting already. */
enum mix_gap {
	MIX_ENDED,
	MIX_EVICTED, /* ... to one that had not begun */
	MIX_ENDED_BACK,
	MIX_EVICTED_BACK, /* ... to one that had been evicted */
	MIX_FIRST,        /* to the round's first */
	MIX_GAP_KINDS,
};

#define MIX_GAPS_MAX 65536

struct mix_gaps {
	double ns[MIX_GAP_KINDS][MIX_GAPS_MAX];
	size_t count[MIX_GAP_KINDS];
	struct mix_belief belief[MIX_REQUESTED_MAX];
	size_t beliefs;
	uint64_t leave_ns; /* what its evictions took, as it said at last */
	double beside_ns;  /* in evictions, half of the time in which both computed: a sum... */
	size_t evictions;  /* ...over so many */
	double busy_ns[BENCH_PROGRAMS_MAX]; /* sums over the rounds */
	unsigned rounds;
	uint64_t handovers;
};

/*
 * Look at one round: when block-tasks ran, in any order.  MIX_FIRST is from the
 * first program's release.  `exclusive`: programs that compute at once are a hand-over of no
 * length, not none, and have half of that time each, as they share the GPU in it (MPS).
 */
void mix_gaps_find(const struct mix *mix, struct gs_span *span, size_t count, int exclusive,
		   struct mix_gaps *gaps);

/* A round is over: ask gpushared what it takes a hand-over and each kernel for, and what evictions
 * took.  -1 with the reason. */
int mix_gaps_request(const struct mix *mix, struct mix_gaps *gaps, struct gs_error *err);

/* What was found: medians, and the time on the GPU. */
void mix_gaps_result(const struct mix *mix, struct mix_gaps *gaps, struct mix_result *result);

/*
 * The same orders in the simulator, as the gpushared that the stage last began
 * was configured, with what it believed as the rounds went by, and the costs in *result.
 */
int mix_simulate(struct mix *mix, struct mix_result *result, struct gs_error *err);

/* For a person, on standard output; the files, if PREFIX was given. -1: a line on standard error.
 */
void mix_print(const struct mix *mix, const struct mix_result *result, size_t count);
int mix_write(const struct mix *mix, const struct mix_result *result, size_t count);

#endif
