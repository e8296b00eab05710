/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workloads and what becomes of them, for the tests of the simulator. */
#ifndef GPUSHARE_TEST_SIMULATE_H
#define GPUSHARE_TEST_SIMULATE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "common/clock.h"
#include "gpushare/sim/experiment.h"

#define MS GS_NS_PER_MS

static inline struct sim_workload parse(const char *text)
{
	struct sim_workload w;
	struct gs_error err;

	if (sim_workload_parse("t.csv", text, strlen(text), &w, &err) < 0)
		fail_msg("%s", err.text);
	return w;
}

/* Results of one policy. */
struct results {
	struct sim_workload workload;
	struct sim_row *row;
	struct sim_summary summary;
};

static inline void simulate(struct results *r, const char *policy, uint64_t handover,
			    unsigned rounds)
{
	struct sim_experiment x = {
		.workload = &r->workload,
		.rounds = rounds,
		.order = { .seed = 1, .shuffle = rounds > 1, .has_gap = rounds > 1, .gap_ns = MS },
	};
	struct gs_error err;

	gs_sched_defaults(&x.options);
	x.options.handover_ns = handover;
	x.costs = sim_costs_of(handover);
	free(r->row);
	r->row = NULL;
	if (sim_experiment_run(&x, policy, &r->row, &r->summary, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r->summary.faults, 0);
}

static inline const struct sim_row *row_of(const struct results *r, const char *name)
{
	for (size_t i = 0; i < r->workload.count; i++)
		if (strcmp(r->workload.kernel[i].name, name) == 0)
			return &r->row[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

static inline void load(struct results *r, const char *name)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	struct gs_error err;

	*r = (struct results) { 0 };
	snprintf(path, sizeof(path), "%s/testsuite/workloads/%s", srcdir ? srcdir : ".", name);
	if (sim_workload_load(path, &r->workload, &err) < 0)
		fail_msg("%s", err.text);
}

static inline void unload(struct results *r)
{
	free(r->row);
	sim_workload_free(&r->workload);
}

static inline void within(const char *what, double got, double want, double percent)
{
	if (got < want * (1 - percent / 100) || got > want * (1 + percent / 100))
		fail_msg("%s: %.4f is not within %.0f %% of %.4f", what, got, percent, want);
}

#endif
