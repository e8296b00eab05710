/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways of sharing that a benchmark compares in one run, as its options choose them. */
#ifndef GPUSHARE_BENCH_WAYS_H
#define GPUSHARE_BENCH_WAYS_H

#include "gpushare/bench/stage.h"

#define BENCH_WAYS_MAX 64

struct bench_way {
	enum bench_share share;
	const char *policy; /* of gpushare; else "driver" or "mps" */
};

struct bench_ways {
	const char *policy;    /* list, or "all" */
	const char *isolation; /* list of none, contexts, mps, or "all" */
	int mps;               /* also MPS without gpushare */
};

#define BENCH_WAYS_OPTIONS \
	{ "policy", required_argument, NULL, 'p' }, \
	{ "isolation", required_argument, NULL, 'i' }, \
	{ "mps", no_argument, NULL, 'M' }
#define BENCH_WAYS_HELP(policies) \
	"  -p, --policy LIST     policies of gpushare, or all (default: " policies ")\n" \
	"  -i, --isolation LIST  none: the driver's time slicing; contexts, mps: each policy\n" \
	"                        under gpushare (default: none,contexts)\n" \
	"      --mps             also MPS without gpushare\n"

/* Take one of these options.  1: taken, 0: not one of them, -1: wrong, with the reason. */
int bench_ways_option(struct bench_ways *ways, int option, const char *value,
		      struct gs_error *err);

/* The ways, those without gpushare first; their number. */
size_t bench_ways_plan(const struct bench_ways *ways, struct bench_way way[BENCH_WAYS_MAX]);

/* "none", "contexts" or "mps". */
const char *bench_way_isolation(const struct bench_way *way);

#endif
