/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the slots of a page to what was found; see watch.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/watch.h"

#include <string.h>

#include "gpushare/arbiter/slot_events.h"
#include "gpushare/arbiter/snapshot.h"

/*
 * Equals whose kernels leave within a few milliseconds do better with turns of some 100 ms, because
 * time slices cost two contexts that fill the GPU a tenth of their rate (doc/measurements, big+big)
 * and nobody urgent waits.
 */
#define EQUALS_WAIT_TIMES 8

/* A launch that reports no time to leave does not count as leaving soon. */
static int leaves_within(const struct gs_snapshot *s, uint64_t ns)
{
	return s->evictable && s->leave_ns && s->leave_ns <= ns;
}

static int leaves_soon(const struct gs_watch *w, const struct gs_snapshot *s)
{
	return leaves_within(s, w->leave_most_ns);
}

static void count(const struct gs_watch *w, struct gs_seen *seen, const struct gs_snapshot *s,
		  unsigned i, struct gs_poll *polled)
{
	uint64_t alone_ns = s->alone_ns ? s->alone_ns : UINT64_MAX;

	if (!gs_snapshot_is_out(s))
		seen->requested_ns = 0;
	polled->ready += s->state == GS_K_READY;
	polled->torun += s->state == GS_K_TORUN;
	polled->running += s->state == GS_K_RUNNING;
	polled->toevict += s->state == GS_K_TOEVICT;
	if (gs_snapshot_is_out(s)) {
		polled->found.on_gpu += s->started != 0;
		polled->found.off_gpu += s->started == 0;
		polled->found.out[i / 64] |= UINT64_C(1) << i % 64;
	}
	if (gs_snapshot_is_out(s) && s->started && seen->requested_ns &&
	    (!polled->found.requested_ns || seen->requested_ns < polled->found.requested_ns))
		polled->found.requested_ns = seen->requested_ns;
	polled->found.staying_live += !leaves_soon(w, s);
	polled->found.lasting_live += !leaves_within(s, EQUALS_WAIT_TIMES * w->leave_most_ns);
	if (alone_ns > polled->found.longest_ns)
		polled->found.longest_ns = alone_ns;
	if (!s->few && alone_ns > polled->found.longest_wide_ns)
		polled->found.longest_wide_ns = alone_ns;
	polled->found.staying_out += gs_snapshot_is_out(s) && !leaves_soon(w, s);
	polled->found.waiting += gs_snapshot_is_out(s) && s->few && !leaves_soon(w, s) &&
				 seen->ran_ns > GS_WATCH_WAITS_NS;
	polled->found.undivided += !s->divides;
	polled->found.put_back += s->state == GS_K_READY && (s->started || s->preenqueued);
	if (s->state == GS_K_RUNNING && s->started && !s->evictable) {
		polled->found.staying++;
		if (!s->alone_ns && polled->found.staying_ns < GS_WATCH_STAYING_NS)
			polled->found.staying_ns = GS_WATCH_STAYING_NS;
		if (s->alone_ns > polled->found.staying_ns)
			polled->found.staying_ns = s->alone_ns;
	}
	polled->nt = gs_at_most(polled->nt + s->nt, GS_WATCH_NT_MAX);
	polled->done = gs_at_most(polled->done + s->done, GS_WATCH_NT_MAX);
	polled->alone_ns = gs_at_most(polled->alone_ns + s->alone_ns, GS_WATCH_ALONE_MAX);
}

/* Of a launch with nt block-tasks those up to `to` are done, where it were those up to `from`. */
static void add_work(struct gs_poll *polled, uint64_t alone_ns, uint64_t nt, uint64_t from,
		     uint64_t to)
{
	if (to > from)
		polled->worked_ns +=
			(uint64_t)((double)alone_ns * (double)(to - from) / (double)nt);
}

static void read_slot(struct gs_watch *w, struct gs_seen *seen, const struct gs_snapshot *s,
		      uint64_t now, struct gs_poll *polled)
{
	int live = gs_snapshot_is_live(s->state);

	if (s->state >= GS_K_COUNT) {
		polled->bad++;
		polled->bad_state = s->state;
		return;
	}
	if (s->timed && !seen->timed && s->number == seen->number)
		gs_slot_learn_time(seen, s, polled);
	if (seen->live && (!live || s->number != seen->number)) {
		add_work(polled, seen->alone_ns, seen->nt, seen->done, seen->nt);
		gs_slot_finish(w, seen, now, polled);
	} else if (seen->live) {
		polled->goes_on = 1;
	}
	/*
	 * In PREP a new number may belong to a launch that is still being prepared. It counts once
	 * a later launch is under way, since numbers ascend. An unused slot shows 1; the first
	 * launch is never missed, since it makes a request. A launch that has been measured has
	 * ended.
	 */
	if (s->number != seen->number &&
	    (s->state != GS_K_PREP || s->timed || (s->number > 1 && s->number < w->last_number))) {
		gs_slot_meet(w, seen, s, now, polled);
		if (!live)
			add_work(polled, s->alone_ns, s->nt, 0, s->nt);
	}
	if (!live)
		return;
	if (!seen->live) { /* the client reuses a number, which harms only its own figures */
		seen->live = 1;
		seen->since_ns = now;
		seen->not_before_ns = w->polled_before_ns;
		seen->kernel = s->kernel;
		seen->dims = s->dims;
		seen->cut = 0;
		seen->evictable = (uint8_t)s->evictable;
		gs_slot_forget_time(seen);
	}
	if (seen->order.stands && s->state != GS_K_TOEVICT)
		gs_slot_left(seen, s, now, polled);
	add_work(polled, s->alone_ns, s->nt, seen->done, s->done);
	seen->nt = s->nt;
	seen->done = s->done;
	seen->alone_ns = s->alone_ns;
	gs_slot_run_on(seen, s, now, polled);
	count(w, seen, s, (unsigned)(seen - w->seen), polled);
}

static int is_timed(const struct gs_slot *slot)
{
	return (gs_page_load(slot->flags) & GS_SLOT_TIMED) != 0;
}

static uint64_t highest_number(const struct gs_page *page, int with_prep)
{
	unsigned slots = gs_page_slots(page);
	uint64_t highest = 0;

	for (unsigned i = 0; i < slots; i++) {
		uint64_t number = gs_snapshot_number(&page->slot[i]);

		if ((with_prep || gs_page_load(page->slot[i].state) != GS_K_PREP ||
		     is_timed(&page->slot[i])) &&
		    number > highest)
			highest = number;
	}
	return highest;
}

void gs_watch_adopt(struct gs_watch *w, const struct gs_page *page)
{
	*w = (struct gs_watch) { .tpt_ps = w->tpt_ps,
				 .kernels = w->kernels,
				 .leave_most_ns = w->leave_most_ns };
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_snapshot_is_live(gs_page_load(page->slot[i].state)))
			w->seen[i].adopted = 1;
		else
			w->seen[i] = (struct gs_seen) {
				.number = gs_snapshot_number(&page->slot[i]),
				.timed = (uint8_t)is_timed(&page->slot[i]),
			};
}

/* True for most slots most of the time: not in use, and not used since the last poll. (Number 1:
 * never used.) */
static int nothing_new(const struct gs_seen *seen, const struct gs_slot *slot)
{
	uint64_t number = gs_snapshot_number(slot);

	if (is_timed(slot) && (!seen->timed || number != seen->number))
		return 0;
	return gs_page_load(slot->state) == GS_K_PREP && !seen->live &&
	       (number == seen->number || number == 1);
}

/* Time has passed since the last poll. What passed before that is a launch's only if one was live
 * then. Before the first poll any time may have. */
static void pass(struct gs_watch *w, uint64_t now)
{
	uint64_t passed = now > w->polled_ns ? now - w->polled_ns : 0;

	w->unclaimed_ns = !w->polled_ns ? GS_WATCH_ALONE_MAX :
			  w->was_live   ? gs_at_most(w->unclaimed_ns + passed, GS_WATCH_ALONE_MAX) :
					  passed;
	w->polled_before_ns = w->polled_ns;
	w->polled_ns = now;
}

static void poll_until(struct gs_watch *w, const struct gs_page *page, uint64_t highest,
		       uint64_t now, struct gs_poll *polled)
{
	unsigned slots = gs_page_slots(page);

	/* Events are written before they are read, so only the rest is cleared. */
	memset(polled, 0, offsetof(struct gs_poll, event));
	pass(w, now);
	if (highest > w->last_number) {
		polled->launches = gs_at_most(highest - w->last_number, GS_WATCH_NT_MAX);
		w->last_number = highest;
	}
	for (unsigned i = 0; i < slots; i++) {
		struct gs_snapshot s;

		if (nothing_new(&w->seen[i], &page->slot[i]))
			continue;
		s = gs_snapshot_take(w, &page->slot[i]);
		read_slot(w, &w->seen[i], &s, now, polled);
	}
	polled->found.queued = polled->ready + polled->torun;
	polled->found.live = polled->found.queued + polled->running + polled->toevict;
	w->was_live = polled->found.live != 0;
	polled->nt = gs_at_most(polled->nt + w->past_nt, GS_WATCH_NT_MAX);
	polled->done = gs_at_most(polled->done + w->past_nt, polled->nt);
	polled->alone_ns = gs_at_most(polled->alone_ns + w->past_alone_ns, GS_WATCH_ALONE_MAX);
}

void gs_watch_poll(struct gs_watch *w, const struct gs_page *page, uint64_t now,
		   struct gs_poll *polled)
{
	poll_until(w, page, highest_number(page, 0), now, polled);
}

void gs_watch_last_poll(struct gs_watch *w, const struct gs_page *page, uint64_t now,
			struct gs_poll *polled)
{
	uint64_t highest = highest_number(page, 1);

	/* An unused page shows 1 in every slot, which is no launch. */
	poll_until(w, page, highest > 1 ? highest : w->last_number, now, polled);
}

void gs_watch_period_end(struct gs_watch *w)
{
	w->past_nt = 0;
	w->past_alone_ns = 0;
}

void gs_watch_requested(struct gs_watch *w, unsigned i, uint64_t now)
{
	if (!w->seen[i].requested_ns)
		w->seen[i].requested_ns = now;
}

void gs_watch_evicting(struct gs_watch *w, const struct gs_page *page, unsigned i, uint64_t now)
{
	struct gs_snapshot s = gs_snapshot_take(w, &page->slot[i]);
	struct gs_seen *seen = &w->seen[i];

	seen->order.stands = 1;
	seen->order.number = s.number;
	seen->order.given_ns = now;
	seen->order.had_started = s.started != 0;
	seen->order.done = s.done;
}
