/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scheduler step by step, for the tests of the policies. */
#ifndef GPUSHARE_TEST_POLICY_STEPS_H
#define GPUSHARE_TEST_POLICY_STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/sched/sched.h"

#define MS GS_NS_PER_MS

static inline struct gs_sched *make(const char *policy)
{
	struct gs_sched_options o;
	struct gs_sched *s;

	gs_sched_defaults(&o);
	s = gs_sched_create(policy, &o, 0, NULL);
	assert_non_null(s);
	return s;
}

static inline void arrive(struct gs_sched *s, uint64_t id, uint64_t alone, int priority,
			  uint32_t shares, uint64_t now)
{
	struct gs_task_params p = {
		.nt = 100, .alone_ns = alone, .priority = priority, .shares = shares
	};

	assert_int_equal(gs_sched_arrive(s, id, &p, now, NULL), 0);
}

static inline uint64_t expect(struct gs_sched *s, uint64_t now, enum gs_action action,
			      uint64_t task)
{
	struct gs_decision d;

	gs_sched_decide(s, now, &d);
	if (d.action != action || d.task != task)
		fail_msg("at %.3f ms: action %d task %d instead of %d %d", (double)now / MS,
			 (int)d.action, (int)d.task, (int)action, (int)task);
	return d.deadline_ns;
}

/* `task` gets the GPU; returns the end of its quantum. */
static inline uint64_t run(struct gs_sched *s, uint64_t now, uint64_t task)
{
	expect(s, now, GS_ACT_RUN, task);
	gs_sched_started(s, task, now);
	return expect(s, now, GS_ACT_KEEP, task);
}

static inline void evict(struct gs_sched *s, uint64_t now, uint64_t task)
{
	expect(s, now, GS_ACT_EVICT, task);
	gs_sched_stopped(s, task, now);
}

#endif
