/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of policies and isolations; see ways.h. */
#define _GNU_SOURCE
#include "gpushare/bench/ways.h"

#include <string.h>

#include "gpushare/sched/sched.h"

static const char *isolation_name(size_t i)
{
	static const char *const names[] = { "none", "contexts", "mps" };

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

int bench_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	if (strcmp(list, "all") == 0)
		return 1;
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && strncmp(at, name, n) == 0)
			return 1;
	return 0;
}

int bench_check_list(const char *what, const char *list, const char *(*name)(size_t),
		     struct gs_error *err)
{
	if (strcmp(list, "all") == 0)
		return 0;
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t n = strcspn(at, ","), i = 0;

		while (name(i) && (strlen(name(i)) != n || strncmp(at, name(i), n) != 0))
			i++;
		if (!name(i))
			return gs_fail(err, "'%.*s' is no %s", (int)(n < 40 ? n : 40), at, what);
	}
	return *list ? 0 : gs_fail(err, "which %s?", what);
}

int bench_take_policy(void *of, const char *list, struct gs_error *err)
{
	((struct bench_ways *)of)->policy = list;
	return bench_check_list("policy", list, gs_sched_policy_name, err);
}

int bench_take_isolation(void *of, const char *list, struct gs_error *err)
{
	((struct bench_ways *)of)->isolation = list;
	return bench_check_list("isolation", list, isolation_name, err);
}

size_t bench_ways_plan(const struct bench_ways *ways, struct bench_way way[BENCH_WAYS_MAX])
{
	static const enum bench_share managed[] = { BENCH_CONTEXTS, BENCH_GS_MPS };
	const char *policy;
	size_t n = 0;

	if (bench_listed(ways->isolation, "none"))
		way[n++] = (struct bench_way) { BENCH_DRIVER, "driver" };
	if (ways->mps)
		way[n++] = (struct bench_way) { BENCH_MPS, "mps" };
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; bench_listed(ways->isolation, isolation_name(k + 1)) &&
				   n < BENCH_WAYS_MAX && (policy = gs_sched_policy_name(i)) != NULL;
		     i++)
			if (bench_listed(ways->policy, policy))
				way[n++] = (struct bench_way) { managed[k], policy };
	return n;
}

const char *bench_way_isolation(const struct bench_way *way)
{
	return way->share == BENCH_CONTEXTS ? "contexts" :
	       way->share == BENCH_GS_MPS   ? "mps" :
					      "none";
}
