/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a scheduling policy is.
 *
 * A policy only orders tasks: the core owns time, queues, deadlines and accounting, and checks
 * every answer. A policy is one file that ends in one `const struct gs_policy`, listed in
 * policies.def. HACKING.md says how to add one.
 */
#ifndef GPUSHARE_SCHED_POLICY_H
#define GPUSHARE_SCHED_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/saturate.h"
#include "gpushare/sched/settings.h"

#define GS_NO_LIMIT UINT64_MAX

/* A sum that stays at GS_NO_LIMIT instead of wrapping around. */
static inline uint64_t gs_later(uint64_t t, uint64_t by)
{
	return gs_add_saturated(t, by);
}

/* The core's links of a task in its queue and index (tasks.c). */
struct gs_task_links {
	size_t heap_at;
	struct gs_task *older, *newer; /* neighbours in the order of waiting */
	struct gs_task *hash_next;
};

/* A task as policies see it. A policy may write only to `word`. */
struct gs_task {
	uint64_t id;
	uint64_t seq;      /* order of arrival; the tie-breaker */
	uint64_t slice;    /* order in which it last joined the ready queue */
	uint64_t nt, done; /* NT and N_t */
	uint64_t alone_ns; /* NT x tpt, ns; 0: not known, see gs_task_alone() */
	int32_t priority;
	uint32_t shares;
	uint64_t arrival_ns;
	uint64_t due_ns;            /* its deadline; GS_NO_LIMIT: it has none */
	uint64_t since_ns;          /* when it joined the ready queue, or got the GPU */
	uint64_t ran_ns, waited_ns; /* up to since_ns */
	uint64_t word[2];           /* the policy's own; zero when the task arrives */

	/* Used by the core only. */
	uint64_t start_ns;
	uint64_t left_ns;     /* remaining time when it was last reported */
	uint64_t left_ran_ns; /* ran_ns at that time */
	uint32_t preemptions;
	int started;
	struct gs_task_links links;
};

/* Place in the ready queue: the smaller round goes first, then the smaller rank, then the earlier
 * arrival. */
struct gs_key {
	uint64_t round;
	double rank;
};

/* One ready task. a and b are for policies whose order changes with time. */
struct gs_entry {
	struct gs_key key;
	double a, b;
	struct gs_task *task;
};

/* What an operation may use; a policy must not write to anything here except `state`. */
struct gs_view {
	const struct gs_sched_options *options;
	const struct gs_entry *ready; /* the ready tasks, in heap order of their keys */
	size_t count;
	struct gs_task *holder; /* the task that holds the GPU; NULL: none */
	uint64_t now;
	uint64_t state[2]; /* the policy's own; zero when the policy takes over */
};

/*
 * The operations; NULL means the core's default.
 *
 * place        Called when a task joins the ready queue, when something about a waiting
 *              task has changed, and for the holder when it is compared with the ready
 *              tasks. Fills in entry->key and, for `pick`, entry->a and entry->b. rank must
 *              be a number. Default: order of arrival.
 * pick         Returns the id of the task that goes next: one of the ready tasks or, if
 *              view->holder is set, the holder; between equals the smaller seq. Default:
 *              the smallest key. Set it only if keys cannot stay fixed while tasks wait,
 *              and use gs_first().
 * quantum      `task` gets the GPU, or keeps it: returns for how long, ns; GS_NO_LIMIT:
 *              until it finishes. The core raises the answer to gs_task_floor(). It is
 *              called again for the holder when a task arrives; the answer may then end the
 *              quantum earlier, never later. The task is not in the ready queue. Default:
 *              no limit.
 * expire       `task` holds the GPU and its quantum is over: called once, before the task
 *              is compared with the others. Default: nothing.
 * arrive       `task` has arrived (it is not in the ready queue yet), or the policy has
 *              just taken over and the task is there. Default: nothing.
 * preempts     A flag: an arriving task is compared with the holder at once, and evicts it
 *              if it goes first. Otherwise a task loses the GPU only at the end of a
 *              quantum. A policy that keeps exchanging holders although nothing about the
 *              tasks changes is replaced by fifo; if only lengths and progress change, each
 *              holder keeps the GPU for a slice then.
 * weighs       A flag: the policy considers the cost of a hand-over when it compares, so the
 *              core raises its quanta only to half as many hand-overs.
 * by_priority  A flag: a task of a higher priority is more urgent than one of a lower
 *              priority, and not its equal (gs_sched_compare()).
 * by_deadline  The same of a task that has a deadline and one that has none.
 * lets_finish  A flag: a quantum that the core has raised is extended to what the task has
 *              left, if that is at most half a quantum more (options->let_finish). For
 *              policies that do not consider lengths themselves.
 */
struct gs_policy {
	const char *name;
	void (*place)(const struct gs_view *view, const struct gs_task *task,
		      struct gs_entry *entry);
	uint64_t (*pick)(struct gs_view *view);
	uint64_t (*quantum)(struct gs_view *view, const struct gs_task *task);
	void (*expire)(struct gs_view *view, struct gs_task *task);
	void (*arrive)(struct gs_view *view, struct gs_task *task);
	int preempts;
	int weighs;
	int lets_finish;
	int by_priority;
	int by_deadline;
};

/* gs_policy_fifo and so on, one per line of policies.def. */
#define POLICY(name, words, source) extern const struct gs_policy gs_policy_##name;
#include "gpushare/sched/policies.def"
#undef POLICY

/* How long a task has run up to view->now, its current time slice included, ns. */
uint64_t gs_task_ran(const struct gs_view *view, const struct gs_task *task);

/* The shortest quantum of this policy, ns: the time of quantum_handovers hand-overs. */
uint64_t gs_task_floor(const struct gs_view *view, const struct gs_policy *policy);

/*
 * What the task still needs, ns: its alone time x the part that was not done when it was last
 * reported, less what it has run since. If the alone time is not known it is estimated, see
 * gs_task_alone().
 */
uint64_t gs_task_left(const struct gs_view *view, const struct gs_task *task);

/*
 * The task's alone time, ns, at least 1. It is the reported one. If that is not known it is NT x
 * (time run / N_t) once block-tasks are done, and before that twice what it has run (to assume that
 * it is half-way is never far wrong), but at least the minimum quantum. Never less than it has run,
 * whatever was reported.
 */
uint64_t gs_task_alone(const struct gs_view *view, const struct gs_task *task);

/*
 * FRS's instantaneous slowdown, IS = (time since arrival + left) / alone, weighted by the task's
 * shares. While the task waits it is a line in time, entry->a + entry->b x time. Equation 1 in the
 * paper has N_t x tpt as the denominator, which contradicts its own text and equation 2 and is
 * infinite for a task that has not begun; it must be NT x tpt.
 */
void gs_place_slowdown(const struct gs_view *view, const struct gs_task *task,
		       struct gs_entry *entry);

/* The slowdown of gs_place_slowdown() at that time, ns. */
static inline double gs_entry_slowdown(const struct gs_entry *entry, uint64_t at_ns)
{
	return entry->a + entry->b * (double)at_ns;
}

/*
 * The id of the task, of the ready tasks and the holder, that is slowed down most, which FRS runs
 * next; between equals the earlier arrival. The holder's slowdown is taken holder_waits_ns from
 * now.
 */
uint64_t gs_most_slowed(const struct gs_view *view, uint64_t holder_waits_ns);

/* The ready task that is slowed down least, which equation 2 compares with; NULL: none is ready. */
const struct gs_entry *gs_least_slowed(const struct gs_view *view);

/* The shortest alone time of the ready tasks, ns; infinite if none is ready. */
double gs_shortest_alone(const struct gs_view *view);

/*
 * An order of the ready tasks that may change with time; for gs_first().
 *
 * value  The larger value goes first. Between equal values the earlier arrival does or, with
 *        by_place, the one that comes first in view->ready.
 */
struct gs_order {
	double (*value)(const struct gs_view *view, const struct gs_entry *entry);
	int by_place;
};

/* The first of the ready tasks; NULL: none is ready. It compares all of them, since a GPU has about
 * ten clients. It is inline so that the compiler makes a loop without calls for each order. */
static inline const struct gs_entry *gs_first(const struct gs_view *view,
					      const struct gs_order *order)
{
	const struct gs_entry *first = NULL;
	double most = 0;

	for (size_t i = 0; i < view->count; i++) {
		const struct gs_entry *e = &view->ready[i];
		double value = order->value(view, e);

		if (!first || value > most ||
		    (value >= most && !order->by_place && e->task->seq < first->task->seq)) {
			first = e;
			most = value;
		}
	}
	return first;
}

/* The first of the ready tasks and the holder, which has this value; NULL: there is no task. */
static inline const struct gs_task *
gs_first_or_holder(const struct gs_view *view, const struct gs_order *order, double holder_value)
{
	const struct gs_entry *first = gs_first(view, order);
	const struct gs_task *holder = view->holder;
	double value;

	if (!first || !holder)
		return first ? first->task : holder;
	value = order->value(view, first);
	if (value > holder_value || (value >= holder_value && first->task->seq < holder->seq))
		return first->task;
	return holder;
}

#endif
