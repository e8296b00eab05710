/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides what to do now. This is the only place where policies are asked which task goes next, and
 * where their answers are checked. Deciding changes nothing but the holder's quantum and the note
 * that an eviction was requested.
 */
#include "gpushare/sched/core.h"

/*
 * A policy that replaces holders without any news in between can go through all tasks once at most,
 * as each new holder must go before the last one. A policy that goes on beyond that would never
 * stop, and the GPU would do nothing but hand-overs.
 */
#define SWAPS_MORE 64

/* The policy's choice among the ready tasks and the holder; never NULL while there is one. */
static struct gs_task *choose(struct gs_one *sched)
{
	struct gs_task *head, *picked;
	struct gs_entry holder;

	if (sched->policy->pick) {
		picked = gs_index_find(&sched->index, sched->policy->pick(gs_core_view(sched)));
		if (picked)
			return picked;
		gs_core_fault(sched);
	}
	if (!sched->holder)
		return sched->ready.entry[0].task;
	gs_core_place(sched, sched->holder, &holder);
	head = sched->ready.entry[0].task;
	return gs_entry_before(&sched->ready.entry[0], &holder) ? head : sched->holder;
}

uint64_t gs_one_peek(struct gs_one *sched, uint64_t now)
{
	const struct gs_task *head = sched->ready.entry[0].task, *picked;
	struct gs_view view;

	if (!sched->policy->pick)
		return head->id;
	/*
	 * This is only a prediction, so work on a copy: what the policy writes down while it picks
	 * must not count.
	 */
	view = *gs_core_view(sched);
	view.holder = NULL;
	if (now > view.now)
		view.now = now;
	picked = gs_index_find(&sched->index, sched->policy->pick(&view));
	return picked && picked != sched->holder ? picked->id : head->id;
}

uint64_t gs_one_starvation_due(const struct gs_one *sched)
{
	if (!sched->options.starvation_ns || !sched->ready.oldest)
		return GS_NO_LIMIT;
	return gs_later(sched->ready.oldest->since_ns, sched->options.starvation_ns);
}

static void decide_free(struct gs_one *sched, struct gs_decision *decision)
{
	struct gs_task *task;

	if (sched->ready.count == 0) {
		decision->action = GS_ACT_IDLE;
		return;
	}
	task = gs_one_starvation_due(sched) <= sched->view.now ? sched->ready.oldest :
								 choose(sched);
	decision->action = GS_ACT_RUN;
	decision->task = task->id;
	/* The quantum begins when the task has started on the GPU. Only then is its end known. */
	decision->deadline_ns = sched->view.now;
}

/* The quantum is over: does another task go first? */
static int loses_gpu_at_end(struct gs_one *sched)
{
	if (sched->policy->quantum)
		gs_core_news(sched);
	if (sched->policy->expire)
		sched->policy->expire(gs_core_view(sched), sched->holder);
	sched->holder->slice = ++sched->next_slice;
	if (choose(sched) != sched->holder)
		return 1;
	gs_core_begin_quantum(sched);
	return 0;
}

/*
 * Clients tell the lengths, so two of them can keep the policy exchanging them by lowering theirs
 * in turn. The policy is not to be replaced for that: each holder keeps the GPU for one slice until
 * something else happens.
 */
static void end_swaps(struct gs_one *sched)
{
	if (!sched->told) {
		gs_core_fault(sched);
		return;
	}
	sched->swaps--;
	sched->protected_until = gs_later(sched->view.now, gs_core_slice(sched));
	if (sched->quantum_end > sched->protected_until)
		sched->quantum_end = sched->protected_until;
}

static int must_leave(struct gs_one *sched, uint64_t starved_slice)
{
	uint64_t now = sched->view.now;

	if (starved_slice <= now)
		return 1;
	if (now >= sched->quantum_end)
		return loses_gpu_at_end(sched);
	if (!sched->reconsider || now < sched->protected_until)
		return 0;
	sched->reconsider = 0;
	if (!sched->policy->preempts || choose(sched) == sched->holder)
		return 0;
	if (sched->swaps++ < sched->index.count + SWAPS_MORE)
		return 1;
	end_swaps(sched);
	return 0;
}

void gs_one_decide(struct gs_one *sched, uint64_t now, struct gs_decision *decision)
{
	uint64_t starved_slice, slice_end;

	gs_core_advance(sched, now);
	*decision = (struct gs_decision) { .deadline_ns = UINT64_MAX };
	if (!sched->holder) {
		decide_free(sched, decision);
		return;
	}
	decision->task = sched->holder->id;
	decision->action = GS_ACT_KEEP;
	/*
	 * A quantum that ends while nobody waits costs nothing. The next arrival is compared with
	 * the holder at once.
	 */
	if (!sched->evicting && sched->ready.count == 0)
		return;
	starved_slice = gs_one_starvation_due(sched);
	slice_end = gs_later(sched->holder->since_ns, gs_core_slice(sched));
	if (starved_slice < slice_end)
		starved_slice = slice_end;
	if (!sched->evicting)
		sched->evicting = must_leave(sched, starved_slice);
	if (sched->evicting) {
		decision->action = GS_ACT_EVICT;
		return;
	}
	decision->deadline_ns =
		sched->quantum_end < starved_slice ? sched->quantum_end : starved_slice;
}
