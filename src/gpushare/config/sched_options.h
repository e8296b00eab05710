/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare.conf says of quanta and hand-overs, as the scheduler wants it; one place for
 * gpushared and its simulations. */
#ifndef GPUSHARE_CONFIG_SCHED_OPTIONS_H
#define GPUSHARE_CONFIG_SCHED_OPTIONS_H

#include "gpushare/config/config.h"
#include "gpushare/sched/sched.h"

static inline struct gs_sched_options gs_config_sched_options(const struct gs_config *c)
{
	return (struct gs_sched_options) {
		.min_quantum_ns = c->min_quantum_ns,
		.rr_quantum_ns = c->rr_quantum_ns,
		.cfs_epoch_ns = c->cfs_epoch_ns,
		.dprr_tick_ns = c->dprr_tick_ns,
		.handover_ns = c->handover_ns,
		.quantum_handovers = c->quantum_handovers,
		.let_finish = 1,
		.starvation_ns = c->starvation_ns,
		/* Whoever names a policy or classes has said how priorities count. */
		.by_priority = !c->policy_given && !c->nclass,
	};
}

#endif
