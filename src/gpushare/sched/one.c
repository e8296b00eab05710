/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of one class: their life and the accounting; see core.h.
 * Invariant: a live task is in the ready queue or it is the holder.
 */
#include "gpushare/sched/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define QUANTUM_FLOOR_NS UINT64_C(1000)

struct gs_one *gs_one_create_under(const struct gs_policy *policy,
				   const struct gs_sched_options *options, uint64_t now,
				   struct gs_error *err)
{
	struct gs_one *sched;

	sched = calloc(1, sizeof(*sched));
	if (!sched || gs_index_init(&sched->index) < 0) {
		free(sched);
		gs_fail(err, "no memory");
		return NULL;
	}
	sched->options = *options;
	sched->policy = policy;
	sched->view.options = &sched->options;
	sched->view.now = now;
	return sched;
}

void gs_one_destroy(struct gs_one *sched)
{
	if (!sched)
		return;
	for (struct gs_task *t = sched->ready.oldest, *next; t; t = next) {
		next = t->links.newer;
		free(t);
	}
	free(sched->holder);
	gs_index_fini(&sched->index);
	gs_ready_fini(&sched->ready);
	free(sched);
}

uint64_t gs_core_advance(struct gs_one *sched, uint64_t now)
{
	if (now > sched->view.now)
		sched->view.now = now;
	return sched->view.now;
}

struct gs_view *gs_core_view(struct gs_one *sched)
{
	sched->view.ready = sched->ready.entry;
	sched->view.count = sched->ready.count;
	sched->view.holder = sched->holder;
	return &sched->view;
}

void gs_core_place(struct gs_one *sched, struct gs_task *task, struct gs_entry *entry)
{
	/* In order of arrival. */
	const struct gs_entry plain = { .key.rank = (double)task->seq, .task = task };
	const struct gs_view *view = gs_core_view(sched);

	*entry = plain;
	if (!sched->policy->place)
		return;
	sched->policy->place(view, task, entry);
	if (isnan(entry->key.rank)) {
		gs_core_fault(sched);
		*entry = plain;
	}
	entry->task = task;
}

uint64_t gs_core_slice(const struct gs_one *sched)
{
	uint64_t floor = gs_task_floor(&sched->view, sched->policy);

	return floor > sched->options.min_quantum_ns ? floor : sched->options.min_quantum_ns;
}

/*
 * Where the quantum is the shortest that hand-overs allow, lengthen it to the task's end if what
 * would be left then is not worth an eviction (let_finish in sched.h). Allow half a hand-over more,
 * as lengths are estimates: otherwise a task that is all but done would be evicted for nothing.
 */
static uint64_t or_to_the_end(struct gs_one *sched, uint64_t floor)
{
	int may = sched->policy->lets_finish && sched->options.let_finish;
	uint64_t left = may ? gs_task_left(gs_core_view(sched), sched->holder) : 0;

	return left > floor && left - floor <= floor / 2 ? left + sched->options.handover_ns / 2 :
							   floor;
}

void gs_core_begin_quantum(struct gs_one *sched)
{
	uint64_t floor = gs_task_floor(&sched->view, sched->policy);
	uint64_t quantum = GS_NO_LIMIT;

	if (sched->policy->quantum)
		quantum = sched->policy->quantum(gs_core_view(sched), sched->holder);
	if (quantum <= floor)
		quantum = or_to_the_end(sched, floor);
	sched->quantum_end =
		gs_later(sched->view.now, quantum > QUANTUM_FLOOR_NS ? quantum : QUANTUM_FLOOR_NS);
}

/* Put `policy` in charge of the tasks that are there. */
static void put_in_charge(struct gs_one *sched, const struct gs_policy *policy)
{
	struct gs_view *view = gs_core_view(sched);

	sched->policy = policy;
	gs_core_news(sched);
	memset(view->state, 0, sizeof(view->state));
	for (struct gs_task *t = sched->ready.oldest; t; t = t->links.newer)
		memset(t->word, 0, sizeof(t->word));
	if (sched->holder)
		memset(sched->holder->word, 0, sizeof(sched->holder->word));
	if (policy->arrive) {
		for (struct gs_task *t = sched->ready.oldest; t; t = t->links.newer)
			policy->arrive(view, t);
		if (sched->holder)
			policy->arrive(view, sched->holder);
	}
	for (size_t i = 0; i < sched->ready.count; i++)
		gs_core_place(sched, sched->ready.entry[i].task, &sched->ready.entry[i]);
	gs_ready_restore(&sched->ready);
	if (sched->holder)
		gs_core_begin_quantum(sched);
	sched->reconsider = 1;
}

void gs_core_fault(struct gs_one *sched)
{
	sched->faults++;
	sched->broke = sched->policy;
	put_in_charge(sched, &gs_policy_fifo);
}

void gs_one_set_policy(struct gs_one *sched, const struct gs_policy *policy, uint64_t now)
{
	gs_core_advance(sched, now);
	sched->broke = NULL;
	if (policy != sched->policy)
		put_in_charge(sched, policy);
}

void gs_one_set_options(struct gs_one *sched, const struct gs_sched_options *options)
{
	sched->options = *options;
}

void gs_one_evict(struct gs_one *sched)
{
	sched->evicting = sched->holder != NULL;
}

const char *gs_one_policy(const struct gs_one *sched)
{
	return sched->policy->name;
}

static void enqueue(struct gs_one *sched, struct gs_task *task)
{
	struct gs_entry entry;

	task->since_ns = sched->view.now;
	task->slice = ++sched->next_slice;
	gs_core_place(sched, task, &entry);
	gs_ready_add(&sched->ready, &entry);
	sched->reconsider = 1;
}

/* An arrival may end the holder's quantum sooner; it never makes it longer. */
static void shorten_quantum(struct gs_one *sched)
{
	uint64_t end = sched->quantum_end;

	gs_core_begin_quantum(sched);
	if (end < sched->quantum_end || sched->quantum_end < sched->protected_until)
		sched->quantum_end = end;
}

int gs_one_arrive(struct gs_one *sched, uint64_t id, const struct gs_task_params *params,
		  uint64_t now, struct gs_error *err)
{
	struct gs_task *task;

	gs_core_advance(sched, now);
	if (params->nt == 0 || params->shares == 0)
		return gs_fail(err, "a task needs at least one block-task and one share");
	if (gs_index_find(&sched->index, id))
		return gs_fail(err, "a task with this id exists already");
	task = calloc(1, sizeof(*task));
	if (!task || gs_ready_reserve(&sched->ready, sched->index.count + 1) < 0) {
		free(task);
		return gs_fail(err, "no memory");
	}
	task->id = id;
	task->seq = ++sched->next_seq;
	task->nt = params->nt;
	task->alone_ns = gs_core_length(params->alone_ns);
	task->left_ns = task->alone_ns;
	task->priority = params->priority;
	task->shares = params->shares;
	task->due_ns = params->due_ns ? params->due_ns : GS_NO_LIMIT;
	task->arrival_ns = sched->view.now;
	task->since_ns = sched->view.now;
	task->links.heap_at = GS_NOT_READY;
	gs_index_add(&sched->index, task);
	gs_core_news(sched);
	if (sched->policy->arrive)
		sched->policy->arrive(gs_core_view(sched), task);
	enqueue(sched, task);
	if (sched->holder)
		shorten_quantum(sched);
	return 0;
}

void gs_one_progress(struct gs_one *sched, uint64_t id, uint64_t nt, uint64_t done,
		     uint64_t alone_ns, uint64_t now)
{
	struct gs_task *task = gs_index_find(&sched->index, id);
	struct gs_entry entry;

	gs_core_advance(sched, now);
	if (!task || nt == 0)
		return;
	sched->told = 1;
	task->nt = nt;
	task->done = done < nt ? done : nt;
	task->alone_ns = gs_core_length(alone_ns);
	task->left_ns = gs_core_left(nt, task->done, task->alone_ns);
	task->left_ran_ns = gs_task_ran(gs_core_view(sched), task);
	if (task->links.heap_at != GS_NOT_READY) {
		gs_core_place(sched, task, &entry);
		gs_ready_move(&sched->ready, &entry);
	}
}

void gs_one_set_priority(struct gs_one *sched, uint64_t id, int32_t priority, uint64_t now)
{
	struct gs_task *task = gs_index_find(&sched->index, id);
	struct gs_entry entry;

	gs_core_advance(sched, now);
	if (!task || task->priority == priority)
		return;
	task->priority = priority;
	gs_core_news(sched);
	sched->reconsider = 1;
	if (task->links.heap_at != GS_NOT_READY) {
		gs_core_place(sched, task, &entry);
		gs_ready_move(&sched->ready, &entry);
	}
}

/*
 * The holder gives the GPU back; the caller decides whether the task becomes ready again or is
 * forgotten.
 */
static void take_gpu(struct gs_one *sched)
{
	struct gs_task *task = sched->holder;

	task->ran_ns += sched->view.now - task->since_ns;
	task->since_ns = sched->view.now;
	sched->holder = NULL;
	sched->evicting = 0;
	sched->protected_until = 0;
}

void gs_one_leave(struct gs_one *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats)
{
	struct gs_task *task = gs_index_find(&sched->index, id);

	gs_core_advance(sched, now);
	if (stats)
		memset(stats, 0, sizeof(*stats));
	if (!task)
		return;
	if (stats)
		gs_one_stats(sched, id, now, stats);
	if (task == sched->holder)
		take_gpu(sched);
	else
		gs_ready_remove(&sched->ready, task);
	gs_core_news(sched);
	gs_index_remove(&sched->index, task);
	free(task);
}

void gs_one_stopped(struct gs_one *sched, uint64_t id, uint64_t now)
{
	struct gs_task *task = sched->holder;

	gs_core_advance(sched, now);
	if (!task || task->id != id)
		return;
	take_gpu(sched);
	task->preemptions++;
	enqueue(sched, task);
}

void gs_one_started(struct gs_one *sched, uint64_t id, uint64_t now)
{
	struct gs_task *task = gs_index_find(&sched->index, id);
	uint64_t waited;

	gs_core_advance(sched, now);
	if (!task || task == sched->holder)
		return;
	if (sched->holder)
		gs_one_stopped(sched, sched->holder->id, now);
	gs_ready_remove(&sched->ready, task);
	waited = sched->view.now - task->since_ns;
	task->waited_ns += waited;
	task->since_ns = sched->view.now;
	if (!task->started) {
		task->started = 1;
		task->start_ns = sched->view.now;
	}
	sched->holder = task;
	gs_core_begin_quantum(sched);
	if (sched->options.starvation_ns && waited >= sched->options.starvation_ns) {
		/*
		 * The starvation bound put this task on the GPU, not the policy: it gets one slice.
		 */
		sched->protected_until = gs_later(sched->view.now, gs_core_slice(sched));
		if (sched->quantum_end == GS_NO_LIMIT ||
		    sched->quantum_end < sched->protected_until)
			sched->quantum_end = sched->protected_until;
	}
	sched->reconsider = 1;
}

int gs_one_stats(struct gs_one *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats)
{
	const struct gs_task *task = gs_index_find(&sched->index, id);
	uint64_t since;

	gs_core_advance(sched, now);
	if (!task)
		return -1;
	since = sched->view.now - task->since_ns;
	*stats = (struct gs_task_stats) {
		.arrival_ns = task->arrival_ns,
		.start_ns = task->start_ns,
		.ran_ns = task->ran_ns + (task == sched->holder ? since : 0),
		.waited_ns = task->waited_ns + (task == sched->holder ? 0 : since),
		.preemptions = task->preemptions,
	};
	return 0;
}

size_t gs_one_count(const struct gs_one *sched)
{
	return sched->index.count;
}

unsigned gs_one_faults(const struct gs_one *sched)
{
	return sched->faults;
}
