/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds the GPU, and for how long: the core that daemon and simulator
 * share.  Pure code: no clock, no I/O; time is a parameter, in nanoseconds,
 * and never runs backwards (a smaller `now` is taken as the last one).
 *
 * One gs_sched is one GPU.  A *task* is what is scheduled: in the simulator
 * a kernel, in the daemon a client's busy period (its kernels from the first
 * READY to the last DONE).  At most one task holds the GPU.
 *
 * The caller's loop:
 *
 *	gs_sched_arrive / _progress / _leave / _stopped   (tell what happened)
 *	gs_sched_decide                                   (ask, once per turn of the loop)
 *	act: evict, or start and gs_sched_started
 *
 * The core owns time, deadlines and accounting; a policy only orders
 * (policy.h).  A policy that picks a task that is not runnable, or picks
 * none while one is, or that never stops exchanging holders, is replaced by
 * fifo and gs_sched_faults() counts it.
 *
 * Tasks may be of several *classes*, each under a policy of its own.  The
 * classes are ordered: while one has a task, no lower one runs, and a task that
 * arrives in a higher class evicts the holder of a lower one at once, whatever
 * the policies.  The starvation bound holds across the classes: who has waited so
 * long gets a slice, which no class takes from it.
 *
 * With options->by_priority there are no classes to name: each priority that a task has is a
 * class of its own, above those of lower priorities.
 */
#ifndef GPUSHARE_SCHED_SCHED_H
#define GPUSHARE_SCHED_SCHED_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/sched/settings.h"

struct gs_policy;
struct gs_sched;

#define GS_SCHED_CLASSES_MAX 8

/* How urgent a task is: its class and its priority, as gs_task_params has them. */
struct gs_urgency {
	uint32_t class;
	int32_t priority;
};

/* One class; `policy` NULL or empty: the GPU's, which gs_sched_set_policy() exchanges. */
struct gs_sched_class {
	const char *policy;
	int32_t priority; /* the class of the larger one goes first; ties: the earlier in the list
			   */
	const char *name; /* for people; nothing to the scheduler */
};

/* What has become of one. */
struct gs_sched_class_status {
	const char *policy; /* in force */
	const char *broke;  /* broke its contract, and the former stands in for it; NULL: none */
	int own;            /* not the GPU's */
	unsigned faults;
};

/* Returns NULL with the reason: unknown policy (the known are named), bad option, no memory. */
struct gs_sched *gs_sched_create(const char *policy, const struct gs_sched_options *options,
				 uint64_t now, struct gs_error *err);

/* For tests: under a policy that is not in policies.def. */
struct gs_sched *gs_sched_create_under(const struct gs_policy *policy,
				       const struct gs_sched_options *options, uint64_t now,
				       struct gs_error *err);

void gs_sched_destroy(struct gs_sched *sched); /* NULL is fine */

/*
 * Classes instead of the one that there is at first; before any task arrives.
 * Returns 0, or -1 with the reason and nothing changed.
 */
int gs_sched_set_classes(struct gs_sched *sched, const struct gs_sched_class *classes, size_t count,
			 uint64_t now, struct gs_error *err);

/* The cost of a hand-over was measured: quanta are adapted to it from now on. */
void gs_sched_set_handover(struct gs_sched *sched, uint64_t handover_ns);

/*
 * Exchange the policy while tasks are there; they keep their history.  Classes
 * with a policy of their own keep it.
 */
int gs_sched_set_policy(struct gs_sched *sched, const char *policy, uint64_t now,
			struct gs_error *err);

/* The same for one class, which has a policy of its own from then on. */
int gs_sched_set_class_policy(struct gs_sched *sched, size_t class, const char *policy,
			      uint64_t now, struct gs_error *err);

size_t gs_sched_class_count(const struct gs_sched *sched);
void gs_sched_class_status(const struct gs_sched *sched, size_t class,
			   struct gs_sched_class_status *status);

/* The policy in force: of the first class that has none of its own, else of the first. */
const char *gs_sched_policy(const struct gs_sched *sched);

/* A task becomes runnable.  `id` is the caller's, unique among live tasks. */
int gs_sched_arrive(struct gs_sched *sched, uint64_t id, const struct gs_task_params *params,
		    uint64_t now, struct gs_error *err);

/*
 * News of a live task: NT and its alone time may have changed (more kernels
 * were launched), `done` block-tasks (N_t) are finished.  Unknown ids are ignored.
 */
void gs_sched_progress(struct gs_sched *sched, uint64_t id, uint64_t nt, uint64_t done,
		       uint64_t alone_ns, uint64_t now);

/* The task's priority is another from now on.  Unknown ids are ignored. */
void gs_sched_set_priority(struct gs_sched *sched, uint64_t id, int32_t priority, uint64_t now);

/* The task is finished, or its owner is dead: forgotten, its stats go to *stats (may be NULL). */
void gs_sched_leave(struct gs_sched *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats);

/*
 * The task chosen by GS_ACT_RUN has been given the GPU: its quantum begins
 * now, so decide again to learn its deadline.
 */
void gs_sched_started(struct gs_sched *sched, uint64_t id, uint64_t now);

/* The task has left the GPU with work remaining; it is runnable again. */
void gs_sched_stopped(struct gs_sched *sched, uint64_t id, uint64_t now);

/* What to do now.  Never blocks, never changes who holds the GPU. */
void gs_sched_decide(struct gs_sched *sched, uint64_t now, struct gs_decision *decision);

/* Stats of a live task; -1 if there is none such. */
int gs_sched_stats(struct gs_sched *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats);

/*
 * A ready task that will probably be next once the holder is gone: the one the policy would choose
 * now.  Changes nothing.  1 and its id, or 0 if none is ready.
 */
int gs_sched_peek(struct gs_sched *sched, uint64_t now, uint64_t *id);

/*
 * Above 0: `a` is more urgent than `b`, below 0: less; 0: they are equals.  A higher class is more
 * urgent, and within a class a higher priority where the class's policy goes by priorities
 * (policy.h, by_priority).
 */
int gs_sched_compare(const struct gs_sched *sched, struct gs_urgency a, struct gs_urgency b);

/* The holder must go, whatever its policy says: decide says so until it has.  Nothing if nobody
 * holds the GPU. */
void gs_sched_evict(struct gs_sched *sched);

/* Tasks that are runnable or hold the GPU. */
size_t gs_sched_count(const struct gs_sched *sched);

/* How often the policy broke its contract. */
unsigned gs_sched_faults(const struct gs_sched *sched);

#endif
