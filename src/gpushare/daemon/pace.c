/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to look again; see pace.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/pace.h"

#include "common/clock.h"

/* A client on its way out is looked at so often, at first and once it takes long. */
#define POLL_LEAVING_NS (3 * GS_NS_PER_US)
#define POLL_DRAINING_NS (15 * GS_NS_PER_US)
#define POLL_LEFT_BEHIND_NS (500 * GS_NS_PER_US)
#define LEAVE_SOON_NS (100 * GS_NS_PER_US)
#define DRAIN_FAST_NS (20 * GS_NS_PER_MS)
/* The holder, while others wait: often about when it should be done, seldom far from it. */
#define POLL_ENDING_NS (25 * GS_NS_PER_US)
#define POLL_CONTENDED_NS (500 * GS_NS_PER_US)
#define POLL_UNKNOWN_NS (100 * GS_NS_PER_US)
#define POLL_ALONE_NS (20 * GS_NS_PER_MS)
/* Whoever is woken for its turn stays awake for 200 us (shim). */
#define HERALD_NS (120 * GS_NS_PER_US)
/* A decision whose time has come although nothing may be done yet. */
#define POLL_DECISION_NS (50 * GS_NS_PER_US)

int gs_pace_contended(const struct gs_gpu *gpu)
{
	size_t others = gs_sched_count(gpu->sched);

	return others > (gpu->holder && gpu->holder->task ? 1u : 0u);
}

uint64_t gs_pace_grace(const struct gs_tenant *t)
{
	uint64_t grace = t->gpu->o.idle_grace_ns;

	return t->gap_ns && t->gap_ns <= 2 * grace ? grace : grace / 8;
}

void gs_pace_expect(struct gs_tenant *t, uint64_t now)
{
	uint64_t nt = t->told_nt ? t->told_nt : 1;

	t->expected_ns = 0;
	if (t->told_alone_ns)
		t->expected_ns = now + (uint64_t)((double)t->told_alone_ns *
						  (double)(nt - t->told_done) / (double)nt);
}

/* A quarter of the distance to the expected end, so that the error is at most that. */
static uint64_t ending(const struct gs_tenant *t, uint64_t now)
{
	uint64_t poll;

	if (!t->expected_ns)
		return POLL_UNKNOWN_NS;
	poll = (now < t->expected_ns ? t->expected_ns - now : now - t->expected_ns) / 4;
	return poll < POLL_ENDING_NS ? POLL_ENDING_NS :
	       poll > POLL_CONTENDED_NS ? POLL_CONTENDED_NS : poll;
}

int gs_pace_is_ending(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_tenant *t = gpu->holder;

	return t && t->live && t->expected_ns && now + HERALD_NS >= t->expected_ns;
}

uint64_t gs_pace_next(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_tenant *t, *holder = gpu->holder;
	uint64_t next = gpu->deadline > now ? gpu->deadline : now + POLL_DECISION_NS;
	uint64_t poll = holder ? POLL_ALONE_NS : UINT64_MAX;

	if (gpu->leaving)
		return now + (now - gpu->drain_since < LEAVE_SOON_NS ? POLL_LEAVING_NS :
			      now - gpu->drain_since < DRAIN_FAST_NS ? POLL_DRAINING_NS :
								       POLL_LEFT_BEHIND_NS);
	if (gpu->starting)
		return now + POLL_ENDING_NS;
	LIST_FOREACH(t, &gpu->tenants, link)
		if (t->on_gpu || t->off_gpu)
			poll = POLL_ALONE_NS;
	if (gs_pace_contended(gpu))
		poll = holder && holder->live ? ending(holder, now) : POLL_CONTENDED_NS;
	if (poll != UINT64_MAX && now + poll < next)
		next = now + poll;
	if (holder && holder->task && holder->idle_since && gs_pace_contended(gpu) &&
	    holder->idle_since + gs_pace_grace(holder) < next)
		next = holder->idle_since + gs_pace_grace(holder);
	return next;
}
