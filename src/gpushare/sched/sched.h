/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which task holds the GPU, and for how long; the daemon and the simulator share this core.
 * Pure code without a clock and I/O: time is a parameter, in nanoseconds, and never runs backwards
 * (a smaller `now` counts as the last one). Not thread-safe.
 *
 * One gs_sched is one GPU. A *task* is what is scheduled: in the simulator a kernel, in the daemon
 * a client's busy period (its kernels from the first READY to the last DONE). At most one task
 * holds the GPU.
 *
 * The caller's loop:
 *
 *	gs_sched_arrive / _progress / _leave / _stopped   (report what happened)
 *	gs_sched_decide                                   (once per step of the loop)
 *	act: evict, or start and gs_sched_started
 *
 * The core owns time, deadlines and accounting; a policy only orders (policy.h). A policy that
 * picks a task that is not runnable, or picks none while one is, or never stops exchanging holders,
 * is replaced by fifo, and gs_sched_faults() counts that.
 *
 * Tasks may belong to several *classes*, each with a policy of its own. The classes are ordered:
 * while one has a task, no lower one runs, and a task that arrives in a higher class evicts the
 * holder of a lower one at once, whatever the policies. The starvation bound holds across the
 * classes: a task that has waited that long gets a slice, which no class takes from it.
 *
 * With options->by_priority classes are not listed: each priority of a task is a class of its own,
 * above those of lower priorities.
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

/* How urgent a task is: its class and its priority, as gs_task_params has them, and whether it has
 * a deadline. */
struct gs_urgency {
	uint32_t class;
	int32_t priority;
	int has_deadline;
};

/* One class. `policy` NULL or empty: the GPU's policy, which gs_sched_set_policy() changes. */
struct gs_sched_class {
	const char *policy;
	/* the class with the larger one goes first; between equals the earlier in the list */
	int32_t priority;
	const char *name; /* for people; the scheduler does not use it */
};

/* The state of a class. */
struct gs_sched_class_status {
	const char *policy; /* the policy in force */
	/* the policy that broke its contract and that is replaced; NULL: none */
	const char *broke;
	int own; /* it is not the GPU's */
	unsigned faults;
};

/* Makes a scheduler, which the caller destroys. The options are copied. NULL with the reason: an
 * unknown policy (the known ones are named), an invalid option, or no memory. */
struct gs_sched *gs_sched_create(const char *policy, const struct gs_sched_options *options,
				 uint64_t now, struct gs_error *err);

/* For tests: with a policy that is not in policies.def. */
struct gs_sched *gs_sched_create_under(const struct gs_policy *policy,
				       const struct gs_sched_options *options, uint64_t now,
				       struct gs_error *err);

void gs_sched_destroy(struct gs_sched *sched); /* NULL is fine */

/* Replaces the one initial class by these; call it before any task arrives. Returns 0, or -1 with
 * the reason and nothing changed. */
int gs_sched_set_classes(struct gs_sched *sched, const struct gs_sched_class *classes, size_t count,
			 uint64_t now, struct gs_error *err);

/* Sets the measured cost of a hand-over, ns; quanta are adapted to it from now on. */
void gs_sched_set_handover(struct gs_sched *sched, uint64_t handover_ns);

/* Changes the policy; tasks keep their history. Classes with a policy of their own keep that.
 * Returns 0, or -1 with the reason. */
int gs_sched_set_policy(struct gs_sched *sched, const char *policy, uint64_t now,
			struct gs_error *err);

/* The same for one class, which has a policy of its own from then on. */
int gs_sched_set_class_policy(struct gs_sched *sched, size_t class, const char *policy,
			      uint64_t now, struct gs_error *err);

/* How many classes there are; and the state of one of them, by its index. */
size_t gs_sched_class_count(const struct gs_sched *sched);
void gs_sched_class_status(const struct gs_sched *sched, size_t class,
			   struct gs_sched_class_status *status);

/* The policy in force: that of the first class without a policy of its own, else that of the first
 * class. */
const char *gs_sched_policy(const struct gs_sched *sched);

/* A task becomes runnable. `id` is the caller's, unique among live tasks. Returns 0, or -1 with the
 * reason. */
int gs_sched_arrive(struct gs_sched *sched, uint64_t id, const struct gs_task_params *params,
		    uint64_t now, struct gs_error *err);

/* Reports a live task's progress: NT and the alone time (ns) may have changed, since more kernels
 * were launched, and `done` block-tasks (N_t) are finished. Unknown ids are ignored. */
void gs_sched_progress(struct gs_sched *sched, uint64_t id, uint64_t nt, uint64_t done,
		       uint64_t alone_ns, uint64_t now);

/* Sets the task's priority. Unknown ids are ignored. */
void gs_sched_set_priority(struct gs_sched *sched, uint64_t id, int32_t priority, uint64_t now);

/* The task has finished, or its owner is dead: removes it and writes its statistics to *stats (NULL
 * is fine). */
void gs_sched_leave(struct gs_sched *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats);

/* The task chosen by GS_ACT_RUN has been given the GPU: its quantum begins now, so decide again to
 * learn its deadline. */
void gs_sched_started(struct gs_sched *sched, uint64_t id, uint64_t now);

/* The task has left the GPU with work remaining and is runnable again. */
void gs_sched_stopped(struct gs_sched *sched, uint64_t id, uint64_t now);

/* Decides what to do now. Never blocks, and never changes which task holds the GPU. */
void gs_sched_decide(struct gs_sched *sched, uint64_t now, struct gs_decision *decision);

/* Writes the statistics of a live task to *stats. Returns 0; -1: there is no such task. */
int gs_sched_stats(struct gs_sched *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats);

/* Finds the ready task that the policy would choose now, which will probably be next once the
 * holder is gone. Changes nothing. Returns 1 and its id, or 0 if none is ready. */
int gs_sched_peek(struct gs_sched *sched, uint64_t now, uint64_t *id);

/*
 * Above 0: `a` is more urgent than `b`; below 0: it is less urgent; 0: they are equals. A higher
 * class is more urgent, and within a class a higher priority if the class's policy orders by
 * priority (policy.h, by_priority), or a deadline if it orders by deadlines (by_deadline).
 */
int gs_sched_compare(const struct gs_sched *sched, struct gs_urgency a, struct gs_urgency b);

/* Has a task of that urgency a deadline by which its class's policy orders (policy.h, by_deadline)?
 * Then it goes before others of its class whatever they have had so far. */
int gs_sched_is_due(const struct gs_sched *sched, struct gs_urgency of);

/* The holder must leave, whatever its policy says: gs_sched_decide() answers EVICT until it has.
 * Does nothing if no task holds the GPU. */
void gs_sched_evict(struct gs_sched *sched);

/* How many tasks are runnable or hold the GPU. */
size_t gs_sched_count(const struct gs_sched *sched);

/* How often a policy has broken its contract. */
unsigned gs_sched_faults(const struct gs_sched *sched);

#endif
