/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classes of a scheduler, shared by classes.c (which there are) and sched.c (whose turn it is).
 */
#ifndef GPUSHARE_SCHED_CLASSES_H
#define GPUSHARE_SCHED_CLASSES_H

#include "gpushare/sched/core.h"
#include "gpushare/sched/sched.h"

struct gs_class {
	struct gs_one *one;
	int own_policy;
	int32_t priority;
};

struct gs_sched {
	struct gs_sched_options options;
	struct gs_class class[GS_SCHED_CLASSES_MAX]; /* in the caller's order */
	uint8_t order[GS_SCHED_CLASSES_MAX]; /* numbers of classes, the first to be served first */
	size_t count;
	uint64_t now;
	/* Which task last got the GPU, and since when no other one has had it, also if it went and
	 * came back meanwhile, as it does when its priority, and so its class, changes. */
	uint64_t last, last_since_ns;
	uint64_t chosen; /* the task that the latest RUN named */
};

/* Advances the clock, which never runs backwards, and returns it. */
static inline uint64_t gs_sched_advance(struct gs_sched *sched, uint64_t now)
{
	if (now > sched->now)
		sched->now = now;
	return sched->now;
}

/* by_priority: the class that a task of this priority joins. */
size_t gs_class_for(struct gs_sched *sched, int32_t priority);

void gs_classes_destroy(struct gs_class *class, size_t count);

#endif
