/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-bench mix, inside: what mix.c measures and mix_report.c writes. */
#ifndef GPUSHARE_BENCH_MIX_H
#define GPUSHARE_BENCH_MIX_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/metrics/timeline.h"
#include "gpushare/sim/experiment.h"

/* The programs under one way of sharing. */
struct mix_result {
	struct bench_way way;
	struct sim_row *row;         /* by kernel */
	struct sim_summary live, sim;
	int has_sim;
	double alone_ratio;          /* alone under this share to alone under the driver, geometric mean */
	uint64_t wrong;              /* block-tasks that did not run exactly once */
	uint64_t handover_ns;        /* median gap between two programs, of the rounds looked at; 0: none seen */
	struct gs_span *span;        /* of the first round, lane: kernel */
	size_t spans;
	uint64_t origin_ns;          /* of its first arrival */
};

struct mix {
	struct bench_common common;
	struct sim_workload workload; /* length_ns: alone, measured; block_tasks: waves */
	struct bench_part part[BENCH_PROGRAMS_MAX];
	struct sim_order order;
	unsigned rounds;
	uint32_t alone;      /* launches of each program alone */
	uint64_t task_ns;    /* wanted */
	double scale;        /* of the lengths in the file */
	struct gs_sched_options options; /* of the simulator */
	int has_handover;    /* given, not measured */

	struct bench_crew crew;
	struct bench_yard yard;
	uint64_t sum_ns;
};

/* For a person, on standard output; the files, if PREFIX was given. -1: a line on standard error. */
void mix_print(const struct mix *mix, const struct mix_result *result, size_t count);
int mix_write(const struct mix *mix, const struct mix_result *result, size_t count);

#endif
