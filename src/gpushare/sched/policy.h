/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a scheduling policy is.
 *
 * A policy only orders: the core owns time, queues, deadlines and accounting,
 * and checks every answer.  One policy is one file that ends in one
 * `const struct gs_policy`, listed in policies.def.  HACKING.md says how to
 * add one.
 */
#ifndef GPUSHARE_SCHED_POLICY_H
#define GPUSHARE_SCHED_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/sched/settings.h"

#define GS_NO_LIMIT UINT64_MAX

/* Sum that stays at GS_NO_LIMIT instead of wrapping. */
static inline uint64_t gs_later(uint64_t t, uint64_t by)
{
	return by > UINT64_MAX - t ? UINT64_MAX : t + by;
}

/* Where the core's queue and index keep a task (tasks.c). */
struct gs_task_links {
	size_t heap_at;
	struct gs_task *older, *newer; /* neighbours in order of waiting */
	struct gs_task *hash_next;
};

/* A task as policies see it.  Only `word` is theirs to write. */
struct gs_task {
	uint64_t id;
	uint64_t seq;      /* order of arrival; the tie-breaker */
	uint64_t slice;    /* order in which it last joined the ready queue */
	uint64_t nt, done; /* NT and N_t */
	uint64_t alone_ns; /* NT x tpt; 0: unknown, see gs_task_alone() */
	int32_t priority;
	uint32_t shares;
	uint64_t arrival_ns;
	uint64_t since_ns;          /* joined the ready queue, or got the GPU, then */
	uint64_t ran_ns, waited_ns; /* up to since_ns */
	uint64_t word[2];           /* the policy's own; zero when the task arrives */

	/* The core's own. */
	uint64_t start_ns;
	uint64_t left_ns;     /* remaining, when it was last told */
	uint64_t left_ran_ns; /* ran_ns then */
	uint32_t preemptions;
	int started;
	struct gs_task_links links;
};

/* Place in the ready queue: the smaller round goes first, then the smaller rank, then arrival. */
struct gs_key {
	uint64_t round;
	double rank;
};

/* One ready task.  a and b are for a policy whose order moves with time. */
struct gs_entry {
	struct gs_key key;
	double a, b;
	struct gs_task *task;
};

/* What an operation may look at; everything here is read-only for a policy but `state`. */
struct gs_view {
	const struct gs_sched_options *options;
	const struct gs_entry *ready; /* the ready tasks, in heap order of their keys */
	size_t count;
	struct gs_task *holder; /* holds the GPU; NULL: nobody */
	uint64_t now;
	uint64_t state[2]; /* the policy's own; zero when it is put in charge */
};

/*
 * The operations; an unset one means the core's default.
 *
 * place     A task joins the ready queue, news of it came while it waits, or
 *           (with the holder) its claim is compared with the ready tasks':
 *           fill entry->key and, for `pick`, entry->a and entry->b.  rank must
 *           be a number.  Default: order of arrival.
 * pick      Who goes next: of the ready tasks and, when view->holder is set,
 *           the holder.  Returns the task's id; ties go to the smaller seq.
 *           Default: the smallest key.  Set it only when keys cannot stay
 *           fixed while tasks wait, and ask gs_first().
 * quantum   `task` gets the GPU, or keeps it: for how long, ns; GS_NO_LIMIT:
 *           until it finishes.  The core raises it to gs_task_floor().  Asked
 *           again of the holder when a task arrives: the answer may then end the
 *           quantum sooner, never later.  The task is not in the ready queue.
 *           Default: no limit.
 * expire    `task` holds the GPU and its quantum is over: called once, before
 *           it is compared with the others.  Default: nothing.
 * arrive    `task` has arrived (not yet in the ready queue), or the policy was
 *           exchanged and it is there.  Default: nothing.
 * preempts  Not a function: when set, an arrival is compared with the holder at
 *           once and evicts it if it goes first.  Otherwise only the end of
 *           a quantum can cost a task the GPU.  A policy that goes on exchanging
 *           holders although nothing is told of the tasks is replaced by fifo; if only
 *           lengths and progress are, each holder keeps the GPU for a slice then.
 * weighs    Not a function: when set, the policy weighs what a hand-over costs when it
 *           compares, and so the core raises its quanta to half as many hand-overs only.
 * by_priority  Not a function: when set, a task of a higher priority is more urgent than one of a
 * lower, and not its equal (gs_sched_compare()). lets_finish  Not a function: when set, a quantum
 * that the core has raised is as long as what is left, where that is half as long again at most
 * (options->let_finish).  For a policy that does not look at lengths itself.
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
};

/* gs_policy_fifo and its like, one per line of policies.def. */
#define POLICY(name, words, source) extern const struct gs_policy gs_policy_##name;
#include "gpushare/sched/policies.def"
#undef POLICY

/* What a task has run up to view->now, the running turn included. */
uint64_t gs_task_ran(const struct gs_view *view, const struct gs_task *task);

/* The shortest quantum of this policy, ns: the time of quantum_handovers hand-overs. */
uint64_t gs_task_floor(const struct gs_view *view, const struct gs_policy *policy);

/*
 * What it still needs, ns: alone time x the part not done when it was last
 * told, less what it has run since.  Where the alone time is unknown it is
 * estimated, see gs_task_alone().
 */
uint64_t gs_task_left(const struct gs_view *view, const struct gs_task *task);

/*
 * Its alone time, ns, at least 1: what was told or, if that is unknown,
 * NT x (time run / N_t) once block-tasks are done, and before that twice what
 * it has run (half-way is the guess that is never far wrong), at least the
 * minimum quantum.  Never less than it has run, whatever was told.
 */
uint64_t gs_task_alone(const struct gs_view *view, const struct gs_task *task);

/*
 * FRS's instantaneous slowdown, IS = (time since arrival + left) / alone, weighted by the
 * task's shares: while it waits a line in time, entry->a + entry->b x time.
 * Equation 1 is printed with N_t x tpt below the line, against its own text and
 * equation 2, and infinite for a task that has not begun: it is NT x tpt.
 */
void gs_place_slowdown(const struct gs_view *view, const struct gs_task *task,
		       struct gs_entry *entry);

static inline double gs_entry_slowdown(const struct gs_entry *entry, uint64_t at_ns)
{
	return entry->a + entry->b * (double)at_ns;
}

/*
 * Of the ready tasks and the holder the one that is slowed down most, which FRS lets go next: its
 * id.  The earlier arrival of two.  The holder's slowdown is taken holder_waits_ns from now.
 */
uint64_t gs_most_slowed(const struct gs_view *view, uint64_t holder_waits_ns);

/* The ready task that is slowed down least, which equation 2 compares with; NULL: none is ready. */
const struct gs_entry *gs_least_slowed(const struct gs_view *view);

/* The shortest alone time of the ready tasks, ns; infinite: none is ready. */
double gs_shortest_alone(const struct gs_view *view);

/*
 * An order of the ready tasks that may move with time; for gs_first().
 *
 * value  The larger goes first, of two alike the earlier arrival or, by_place,
 *        the one before the other in view->ready.
 */
struct gs_order {
	double (*value)(const struct gs_view *view, const struct gs_entry *entry);
	int by_place;
};

/*
 * The first of the ready tasks; NULL: none is ready.  It looks at all of them: a GPU has some ten
 * clients. Here, so that the compiler makes each order a loop without calls.
 */
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

/* The first of the ready tasks and the holder, which has this value; NULL: there is none. */
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
