/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler's inputs and outputs, for the policies and for its callers. */
#ifndef GPUSHARE_SCHED_SETTINGS_H
#define GPUSHARE_SCHED_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

/* The settings of all policies; gs_sched_defaults() fills in those of the papers. */
struct gs_sched_options {
	uint64_t min_quantum_ns; /* frs, frsp: 1 ms (FRS, section VI) */
	uint64_t rr_quantum_ns;  /* rr: 1 ms */
	uint64_t cfs_epoch_ns;   /* cfs: 4 ms, divided by the runnable tasks */
	/* cfs: no round robin in epochs, see cfs.c; default 0 */
	uint32_t cfs_longest_wait;
	/* dprr: the unit of its slices and of its rising priorities, 1 ms in the paper */
	uint64_t dprr_tick_ns;
	uint64_t handover_ns; /* the cost of giving the GPU to another task */
	/* no quantum is shorter than this many hand-overs (policy.h); default 4 */
	uint32_t quantum_handovers;
	/*
	 * 1 (default): under policies that let tasks finish, a task is not evicted at the end of
	 * such a quantum if it has at most half of one left. An eviction costs two hand-overs, away
	 * and back, and the mean turnaround of two tasks is shortest if the one with less left goes
	 * first.
	 */
	uint32_t let_finish;
	/* a task that has waited this long goes next, whatever the policy; 0: no bound */
	uint64_t starvation_ns;
	/*
	 * Each priority is a class of its own; gs_sched_set_classes() is refused then. If live
	 * tasks have more than GS_SCHED_CLASSES_MAX priorities, a new task joins the next lower
	 * class that exists.
	 */
	int by_priority;
};

/* What the caller knows of a task when it arrives. */
struct gs_task_params {
	uint64_t nt;       /* NT: block-tasks, at least 1 */
	uint64_t alone_ns; /* NT x tpt, the time that it would take alone, ns; 0: not known */
	int32_t priority;  /* larger is more urgent */
	uint32_t shares;   /* entitlement, at least 1 */
	/* index into the classes of gs_sched_set_classes(); an invalid one means the last */
	uint32_t class;
	uint64_t due_ns; /* when it is to have finished, on the clock of `now`; 0: no deadline */
};

enum gs_action {
	GS_ACT_IDLE,  /* nothing is runnable */
	GS_ACT_KEEP,  /* the task that holds the GPU continues until deadline_ns */
	GS_ACT_RUN,   /* the GPU is free: start `task`, then decide again */
	GS_ACT_EVICT, /* evict the task that holds the GPU; decide again once it stopped */
};

struct gs_decision {
	enum gs_action action;
	uint64_t task; /* RUN: the task to start; KEEP, EVICT: the task that holds the GPU */
	/* KEEP: decide again by then, UINT64_MAX: not needed; RUN: now */
	uint64_t deadline_ns;
};

/* What a task has had so far. */
struct gs_task_stats {
	uint64_t arrival_ns;  /* when it became runnable */
	uint64_t start_ns;    /* when it first got the GPU; 0: not yet */
	uint64_t ran_ns;      /* how long it has held the GPU so far */
	uint64_t waited_ns;   /* how long it has been runnable without the GPU so far */
	uint32_t preemptions; /* how often it lost the GPU with work remaining */
};

/* Fills in the defaults of all settings. */
void gs_sched_defaults(struct gs_sched_options *options);

/* The names of all policies, in the order of policies.def; NULL beyond the last. */
const char *gs_sched_policy_name(size_t index);

#endif
