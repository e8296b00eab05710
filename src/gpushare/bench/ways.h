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

/* The options of gpushare's ways, and of all. */
#define BENCH_MANAGED_OPTIONS(ways) \
	{ "policy", 'p', .take = bench_take_policy, .of = &(ways) }, \
	{ \
		"isolation", 'i', .take = bench_take_isolation, .of = &(ways) \
	}
#define BENCH_WAYS_OPTIONS(ways) \
	BENCH_MANAGED_OPTIONS(ways), \
	{ \
		"mps", .given = &(ways).mps \
	}
int bench_take_policy(void *ways, const char *list, struct gs_error *err);
int bench_take_isolation(void *ways, const char *list, struct gs_error *err);

/* Is `name` one of the comma separated list, or the list "all"? */
int bench_listed(const char *list, const char *name);

/* Are the words of a list all names, or is it "all"?  0, or -1 with the first that is none
 * (`what`). */
int bench_check_list(const char *what, const char *list, const char *(*name)(size_t),
		     struct gs_error *err);

#define BENCH_WAYS_HELP(policies) \
	"  -p, --policy LIST     policies of gpushare, or all (default: " policies ")\n" \
	"  -i, --isolation LIST  none: the driver's time slicing; contexts, mps: each policy\n" \
	"                        under gpushare (default: none,contexts)\n" \
	"      --mps             also MPS without gpushare\n"

/* The ways, those without gpushare first; their number. */
size_t bench_ways_plan(const struct bench_ways *ways, struct bench_way way[BENCH_WAYS_MAX]);

/* "none", "contexts" or "mps". */
const char *bench_way_isolation(const struct bench_way *way);

#endif
