/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policies by their names, and the settings; see sched.h. */
#include <string.h>

#include "common/clock.h"
#include "gpushare/sched/core.h"

static const struct gs_policy *const policies[] = {
#define POLICY(name, words, source) &gs_policy_##name,
#include "gpushare/sched/policies.def"
#undef POLICY
};

#define POLICY_COUNT (sizeof(policies) / sizeof(policies[0]))

const char *gs_sched_policy_name(size_t index)
{
	return index < POLICY_COUNT ? policies[index]->name : NULL;
}

const struct gs_policy *gs_policy_find(const char *name, struct gs_error *err)
{
	for (size_t i = 0; i < POLICY_COUNT; i++)
		if (strcmp(name, policies[i]->name) == 0)
			return policies[i];
	gs_fail(err, "'%.40s' is not a policy: choose one of"
#define POLICY(name, words, source) " " #name
#include "gpushare/sched/policies.def"
#undef POLICY
		,
		name);
	return NULL;
}

void gs_sched_defaults(struct gs_sched_options *options)
{
	*options = (struct gs_sched_options) {
		.min_quantum_ns = GS_NS_PER_MS,
		.rr_quantum_ns = GS_NS_PER_MS,
		.cfs_epoch_ns = 4 * GS_NS_PER_MS,
		.dprr_tick_ns = GS_NS_PER_MS,
		.quantum_handovers = 4,
		.let_finish = 1,
	};
}

int gs_sched_check(const struct gs_sched_options *options, struct gs_error *err)
{
	static const uint64_t day = 86400 * GS_NS_PER_S;

	if (!options->min_quantum_ns || !options->rr_quantum_ns || !options->cfs_epoch_ns ||
	    !options->dprr_tick_ns)
		return gs_fail(err, "a quantum and an epoch must be longer than zero");
	if (options->min_quantum_ns > day || options->rr_quantum_ns > day ||
	    options->cfs_epoch_ns > day || options->dprr_tick_ns > day ||
	    options->handover_ns > day || options->starvation_ns > day)
		return gs_fail(err, "a time is longer than a day");
	if (options->quantum_handovers > 1000)
		return gs_fail(err, "a quantum is longer than 1000 hand-overs");
	return 0;
}
