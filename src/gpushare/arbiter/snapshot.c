/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A launch slot at one instant; see snapshot.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/snapshot.h"

/* Predicts a launch that reports no time: the client knows nothing of a kernel before its first
 * launch. */
static uint64_t predicted(const struct gs_watch *w, const struct gs_snapshot *s)
{
	double ns;

	if (!w->tpt_ps || s->kernel >= w->kernels)
		return 0;
	ns = (double)w->tpt_ps[s->kernel] * (double)s->nt / 1e3;
	return ns < (double)GS_WATCH_ALONE_MAX ? (uint64_t)ns : GS_WATCH_ALONE_MAX;
}

struct gs_snapshot gs_snapshot_take(const struct gs_watch *w, const struct gs_slot *slot)
{
	struct gs_snapshot s = { .state = gs_page_load(slot->state) };
	uint32_t flags = gs_page_load(slot->flags), then = flags;

	s.started = gs_page_load(slot->started);
	s.kernel = gs_page_load(slot->kernel);
	s.nt = gs_at_most(gs_page_load(slot->nt), GS_WATCH_NT_MAX);
	s.done = gs_at_most(gs_page_load(slot->done), s.nt);
	s.alone_ns = gs_at_most(gs_page_load(slot->alone_ns), GS_WATCH_ALONE_MAX);
	if (!s.alone_ns)
		s.alone_ns = predicted(w, &s);
	else if (s.nt) /* at most a day: no overflow */
		s.tpt_ps = (uint64_t)((double)s.alone_ns / (double)s.nt * 1e3);
	s.number = gs_snapshot_number(slot);
	flags = gs_page_load(slot->flags);
	s.timed = (then & flags & GS_SLOT_TIMED) && (s.state == GS_K_DONE || s.state == GS_K_PREP);
	s.dims = flags >> GS_SLOT_DIMS_SHIFT;
	s.evictable = flags & GS_SLOT_EVICTABLE;
	s.preenqueued = flags & GS_SLOT_PREENQUEUED;
	s.few = (flags & GS_SLOT_FEW) != 0;
	s.divides = (flags & GS_SLOT_DIVIDES) != 0;
	if (s.evictable)
		s.leave_ns = gs_page_load(slot->leave_ns);
	if (!s.evictable) {
		s.why = flags >> GS_SLOT_WHY_SHIFT & GS_SLOT_WHY_MAX;
		s.untracked_ns = gs_at_most(gs_page_load(slot->leave_ns), GS_SLOT_UNTRACKED_NS_MAX);
	}
	return s;
}
