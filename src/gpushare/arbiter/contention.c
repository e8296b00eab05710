/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the pages say of others; see contention.h. Each step tells every client. To compare each
 * with all others would take the square of their number, so the active ones are put into groups of
 * equal urgency, of which there are few. With more than GROUPS_MAX groups each is compared with
 * each after all.
 */
#include "gpushare/arbiter/contention.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/holders.h"
#include "gpushare/arbiter/launch_barrier.h"
#include "gpushare/arbiter/task.h"

#define GROUPS_MAX 64

/* Active clients that are as urgent as each other. */
struct group {
	const struct gs_gpu_client *of; /* one of them */
	unsigned users;                 /* how many of them use the GPU */
	unsigned leave;                 /* how many of those have kernels that can leave */
	uint64_t longest_ns;            /* the longest task of those that use it often */
};

struct active {
	const struct gs_gpu_client *first; /* all of them, by pauses.next_active */
	unsigned users;                    /* how many of them use the GPU */
	size_t groups;                     /* 0: more than GROUPS_MAX, or none */
	struct group group[GROUPS_MAX];
};

/* What a client must know of the others. */
struct seen {
	int queue; /* one that is more urgent, or shares its context, uses the GPU */
	int below; /* one that is less urgent uses the GPU */
	enum gs_contended is;
	uint64_t longest_ns; /* the longest task of a more urgent one that uses it often */
};

static int waits(const struct gs_gpu_client *t)
{
	return t->task && !gs_gpu_client_has_slice(t);
}

/* Whom the others must reckon with. */
static int is_active(const struct gs_gpu_client *t, uint64_t now)
{
	return waits(t) || gs_gpu_client_uses(t, now);
}

#define RARE_NS (250 * GS_NS_PER_MS)

/* Does the client use the GPU often? */
static int is_frequent(const struct gs_gpu_client *t, uint64_t now)
{
	return !t->stopped && !t->bad.is && gs_gpu_client_used_within(t, RARE_NS, now);
}

/* ---- the active clients ------------------------------------------------------ */

static struct group group_of(const struct gs_gpu_client *t, uint64_t now)
{
	struct group g = { .of = t, .users = gs_gpu_client_uses(t, now) != 0 };

	g.leave = g.users && !gs_holders_cannot_leave(t, now);
	if (is_frequent(t, now))
		g.longest_ns = gs_gpu_task_length(t, now);
	return g;
}

/* Returns 0 if there is no room. */
static int put(struct active *active, const struct gs_gpu_client *t, uint64_t now)
{
	struct group is = group_of(t, now), *g = active->group, *end = g + active->groups;

	while (g < end && gs_gpu_client_compare(g->of, t) != 0)
		g++;
	if (g == end) {
		if (active->groups == GROUPS_MAX)
			return 0;
		*g = is;
		active->groups++;
		return 1;
	}
	g->users += is.users;
	g->leave += is.leave;
	if (is.longest_ns > g->longest_ns)
		g->longest_ns = is.longest_ns;
	return 1;
}

static void find_active(const struct gs_gpu *gpu, struct active *active, uint64_t now)
{
	struct gs_gpu_client *t;
	int fit = 1;

	active->first = NULL;
	active->users = 0;
	active->groups = 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		if (!is_active(t, now))
			continue;
		t->pauses.next_active = active->first;
		active->first = t;
		active->users += gs_gpu_client_uses(t, now) != 0;
		fit = fit && put(active, t, now);
	}
	if (!fit)
		active->groups = 0;
}

/* ---- what they mean for one client ------------------------------------------- */

/*
 * The end of this client's kernels must be seen. If the other client's kernels are evicted for this
 * one, it must be seen at once, so every launch needs a slot. If they stay beside it, markers would
 * only slow this client down, and the other one uses its pauses anyway.
 */
static void track(struct seen *seen, int others_leave)
{
	if (others_leave)
		seen->is = GS_CONTENDED_TRACKED;
	else if (seen->is == GS_CONTENDED_NOT)
		seen->is = GS_CONTENDED_SPARSE;
}

static void reckon_with(const struct group *g, const struct gs_gpu_client *t, struct seen *seen)
{
	int urgency = gs_gpu_client_compare(g->of, t);

	if (urgency > 0) {
		seen->queue |= g->users != 0;
		if (g->longest_ns > seen->longest_ns)
			seen->longest_ns = g->longest_ns;
	} else if (urgency < 0 && g->users) {
		seen->below = 1;
		track(seen, g->leave != 0);
	}
}

static struct seen reckon(const struct gs_gpu *gpu, const struct gs_gpu_client *t,
			  const struct active *active, uint64_t now)
{
	unsigned own = gs_gpu_client_uses(t, now) != 0;
	struct seen seen = { .is = GS_CONTENDED_NOT };

	if (!gpu->o.leave_most_ns)
		return seen;
	for (size_t i = 0; i < active->groups; i++)
		reckon_with(&active->group[i], t, &seen);
	if (!active->groups)
		for (const struct gs_gpu_client *other = active->first; other;
		     other = other->pauses.next_active) {
			struct group alone = group_of(other, now);

			if (other != t)
				reckon_with(&alone, t, &seen);
		}
	seen.queue |= gpu->o.one_context && active->users > own;
	return seen;
}

/* Returns 1 if one waits for the holder, and not only for its kernels' end. */
static int is_waited_for(const struct gs_gpu *gpu, const struct active *active, struct seen *seen,
			 uint64_t now)
{
	const struct gs_gpu_client *other;

	for (other = active->first; other; other = other->pauses.next_active) {
		if (other == gpu->holder || !waits(other))
			continue;
		if ((gs_gpu_client_compare(other, gpu->holder) >= 0 || !gpu->o.leave_most_ns) &&
		    !other->holder_state.held)
			return 1;
		track(seen, !gs_holders_cannot_leave(other, now));
	}
	return 0;
}

/*
 * What the page says of contention by others. A client should queue only few kernels that cannot
 * leave in two cases: a more urgent client may come at any moment, or all clients' kernels run
 * beside each other on the multiprocessors (MPS), where a client that has queued more gets more of
 * them.
 */
static enum gs_contended contention(const struct gs_gpu *gpu, const struct gs_gpu_client *t,
				    const struct active *active, struct seen *seen, uint64_t now)
{
	if (t->p.force_ns || (t == gpu->holder && is_waited_for(gpu, active, seen, now)))
		return GS_CONTENDED;
	if (seen->queue)
		return GS_CONTENDED_QUEUE;
	/* Its bursts are timed, so each of its launches must be seen. */
	return t->p.period.deadline_ns ? GS_CONTENDED_TRACKED : seen->is;
}

/*
 * A kernel that takes longer than this to leave should go out as written, us; 0: any may be
 * preemptible. While a kernel leaves, the driver's time slices go on, so leaving pays only beside
 * tasks that are several times as long. Beside shorter ones it costs the less urgent client more
 * than it brings the other (doc/policies.md); beside rare ones that matters little. Under MPS there
 * are no time slices.
 */
#define LEAVE_PARTS 12
#define LEAVE_STEP_NS (100 * GS_NS_PER_US)

static uint64_t leave_most_us(const struct gs_gpu *gpu, const struct gs_gpu_client *t,
			      uint64_t longest_ns)
{
	uint64_t ns = longest_ns / LEAVE_PARTS;

	if (!longest_ns || !gpu->o.leave_most_ns || gpu->o.one_context || t->p.force_ns)
		return 0;
	/* in steps, so that it seldom changes */
	ns -= ns % LEAVE_STEP_NS;
	return (ns > gpu->o.leave_most_ns ? ns : gpu->o.leave_most_ns) / GS_NS_PER_US;
}

void gs_contention_tell(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_present present = gs_holders_present(gpu);
	const struct gs_gpu_client *there = gpu->leaving                           ? gpu->leaving :
					    gpu->holder && gpu->holder->found.live ? gpu->holder :
										     NULL;
	int alone = LIST_FIRST(&gpu->clients) && !LIST_NEXT(LIST_FIRST(&gpu->clients), link);
	struct active active;
	struct gs_gpu_client *t;

	find_active(gpu, &active, now);
	LIST_FOREACH (t, &gpu->clients, link) {
		struct seen seen = reckon(gpu, t, &active, now);
		unsigned own = gs_gpu_client_uses(t, now) != 0;

		if (gpu->o.leave_most_ns || t == gpu->holder)
			gs_page_tell(t->p.page->contended, contention(gpu, t, &active, &seen, now));
		gs_page_tell(t->p.page->shared, active.users > own || t->p.force_ns);
		gs_page_tell(t->p.page->only, alone && !t->p.force_ns && !t->p.period.deadline_ns);
		gs_page_tell(t->p.page->preenqueue, gpu->o.preenqueue && there && there != t);
		gs_holders_tell_present(t, &present);
		gs_page_tell(t->p.page->priorities.leave_most_us,
			     leave_most_us(gpu, t, seen.longest_ns));
		gs_launch_barrier_tell(t, seen.queue, seen.below);
	}
}
