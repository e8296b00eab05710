/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes into the scheduler and comes out of it, for the policies below it and the callers above
 * it. */
#ifndef GPUSHARE_SCHED_SETTINGS_H
#define GPUSHARE_SCHED_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

/* Settings of all policies; gs_sched_defaults() fills in those of the papers. */
struct gs_sched_options {
	uint64_t min_quantum_ns;    /* frs, frsp: 1 ms (FRS, section VI) */
	uint64_t rr_quantum_ns;     /* rr: 1 ms */
	uint64_t cfs_epoch_ns;      /* cfs: 4 ms, divided by the runnable tasks */
	uint32_t cfs_longest_wait;  /* cfs: no turns in epochs, see cfs.c; 0 */
	uint64_t dprr_tick_ns;      /* dprr: the unit of its slices and of its rising priorities, in
				     * the paper 1 ms */
	uint64_t handover_ns;       /* cost of giving the GPU to another */
	uint32_t quantum_handovers; /* no quantum is shorter than so many hand-overs (policy.h);
				     * default 4 */
	/*
	 * Nobody is evicted at the end of such a quantum who has no more than half of one left,
	 * under policies that let tasks finish: 1. An eviction costs everybody two hand-overs, away
	 * and back; and of two tasks the mean turnaround is the least where the one with less left
	 * goes first.
	 */
	uint32_t let_finish;
	uint64_t starvation_ns; /* a task that waited this long goes next, whatever the policy; 0:
				   no bound */
	/*
	 * Each priority is a class of its own; gs_sched_set_classes() is refused then.  Beyond
	 * GS_SCHED_CLASSES_MAX priorities of live tasks, a task joins the next lower class that is
	 * there.
	 */
	int by_priority;
};

/* What the caller knows of a task when it arrives. */
struct gs_task_params {
	uint64_t nt;       /* NT: block-tasks, at least 1 */
	uint64_t alone_ns; /* NT x tpt, the time it would take alone; 0: unknown */
	int32_t priority;  /* larger is more urgent */
	uint32_t shares;   /* entitlement, at least 1 */
	uint32_t class;    /* index into those of gs_sched_set_classes(); one that is not there: the
			      last */
};

enum gs_action {
	GS_ACT_IDLE,  /* nothing is runnable */
	GS_ACT_KEEP,  /* the task that holds the GPU goes on until deadline */
	GS_ACT_RUN,   /* the GPU is free: start `task`, then decide again */
	GS_ACT_EVICT, /* evict the task that holds the GPU; decide again once it stopped */
};

struct gs_decision {
	enum gs_action action;
	uint64_t task; /* RUN: whom; KEEP, EVICT: the one that holds the GPU */
	uint64_t
		deadline_ns; /* KEEP: ask again then at the latest, UINT64_MAX: no need; RUN: now */
};

/* What a task has had so far. */
struct gs_task_stats {
	uint64_t arrival_ns;  /* when it became runnable */
	uint64_t start_ns;    /* when it first got the GPU; 0: not yet */
	uint64_t ran_ns;      /* held the GPU, so far */
	uint64_t waited_ns;   /* runnable without it, so far */
	uint32_t preemptions; /* lost the GPU with work remaining */
};

void gs_sched_defaults(struct gs_sched_options *options);

/* Names of all policies, in the order of policies.def; NULL beyond the last. */
const char *gs_sched_policy_name(size_t index);

#endif
