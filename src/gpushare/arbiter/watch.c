/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From page snapshots to events; see watch.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/watch.h"

#include <string.h>

/*
 * A launch's time is used if at most this part of it, 1/UNSURE_PART, is uncertainty about its end.
 */
#define UNSURE_PART 4

/* One slot as it was at one instant, clamped. */
struct snapshot {
	uint32_t state, started, kernel, evictable, preenqueued, few;
	uint64_t nt, done, alone_ns, tpt_ps;
	uint64_t untracked_ns; /* alone time of the launches without a slot before this one */
	uint64_t leave_ns;     /* evictable: how long it takes to leave; 0: not known */
	uint32_t dims;
	uint32_t why;    /* why it is not evictable; 0: not reported */
	uint64_t number; /* of the launch, from 1 */
	int timed;       /* alone_ns has been measured */
};

static uint64_t at_most(uint64_t v, uint64_t most)
{
	return v < most ? v : most;
}

/* Clients number their launches from 0, so that a fresh page has a 0 in every slot. */
static uint64_t number_of(const struct gs_slot *slot)
{
	return gs_page_load(slot->seq) + 1;
}

/* Predicts a launch that reports no time: the client knows nothing of a kernel before its first
 * launch. */
static uint64_t predicted(const struct gs_watch *w, const struct snapshot *s)
{
	double ns;

	if (!w->tpt_ps || s->kernel >= w->kernels)
		return 0;
	ns = (double)w->tpt_ps[s->kernel] * (double)s->nt / 1e3;
	return ns < (double)GS_WATCH_ALONE_MAX ? (uint64_t)ns : GS_WATCH_ALONE_MAX;
}

static struct snapshot take(const struct gs_watch *w, const struct gs_slot *slot)
{
	struct snapshot s = { .state = gs_page_load(slot->state) };
	uint32_t flags = gs_page_load(slot->flags), then = flags;

	s.started = gs_page_load(slot->started);
	s.kernel = gs_page_load(slot->kernel);
	s.nt = at_most(gs_page_load(slot->nt), GS_WATCH_NT_MAX);
	s.done = at_most(gs_page_load(slot->done), s.nt);
	s.alone_ns = at_most(gs_page_load(slot->alone_ns), GS_WATCH_ALONE_MAX);
	if (!s.alone_ns)
		s.alone_ns = predicted(w, &s);
	else if (s.nt) /* at most a day: no overflow */
		s.tpt_ps = (uint64_t)((double)s.alone_ns / (double)s.nt * 1e3);
	s.number = number_of(slot);
	flags = gs_page_load(slot->flags);
	s.timed = (then & flags & GS_SLOT_TIMED) && (s.state == GS_K_DONE || s.state == GS_K_PREP);
	s.dims = flags >> GS_SLOT_DIMS_SHIFT;
	s.evictable = flags & GS_SLOT_EVICTABLE;
	s.preenqueued = flags & GS_SLOT_PREENQUEUED;
	s.few = (flags & GS_SLOT_FEW) != 0;
	if (s.evictable)
		s.leave_ns = gs_page_load(slot->leave_ns);
	if (!s.evictable) {
		s.why = flags >> GS_SLOT_WHY_SHIFT & GS_SLOT_WHY_MAX;
		s.untracked_ns = at_most(gs_page_load(slot->leave_ns), GS_SLOT_UNTRACKED_NS_MAX);
	}
	return s;
}

static int is_live(uint32_t state)
{
	return state == GS_K_READY || state == GS_K_TORUN || state == GS_K_RUNNING ||
	       state == GS_K_TOEVICT;
}

/* Is the launch on the GPU or on its way there? */
static int is_out(const struct snapshot *s)
{
	return s->state == GS_K_RUNNING || s->state == GS_K_TOEVICT;
}

static void add_event(struct gs_poll *polled, const struct gs_slot_event *event)
{
	if (polled->nevents < GS_WATCH_SLOT_EVENTS * GS_PAGE_SLOTS)
		polled->event[polled->nevents++] = *event;
}

/* What follows belongs to another launch. */
static void forget_time(struct gs_seen *seen)
{
	seen->on_gpu_ns = seen->ran_ns = seen->booked_ns = seen->requested_ns = 0;
}

/* Books `whole`; returns the part that was not booked before. */
static uint64_t book(struct gs_seen *seen, uint64_t whole)
{
	uint64_t more = whole > seen->booked_ns ? whole - seen->booked_ns : 0;

	seen->booked_ns += more;
	return more;
}

/* A step that is repeated has the time of the first one, which may be older than its polls. */
static uint64_t since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}

/* Adds up the time on the GPU from poll to poll. While nobody waits, polls are rare, and a
 * prediction is closer. */
static void run_on(struct gs_seen *seen, const struct snapshot *s, uint64_t now,
		   struct gs_poll *polled)
{
	int on_gpu = is_out(s) && s->started;

	if (seen->on_gpu_ns)
		seen->ran_ns =
			at_most(seen->ran_ns + since(seen->on_gpu_ns, now), GS_WATCH_ALONE_MAX);
	seen->on_gpu_ns = on_gpu ? now : 0;
	if (seen->ran_ns >= seen->booked_ns + GS_WATCH_BOOK_NS)
		add_event(polled, &(struct gs_slot_event) {
					  .kind = GS_EV_RAN,
					  .kernel = seen->kernel,
					  .ran_ns = book(seen, seen->ran_ns),
					  .alone_ns = seen->alone_ns,
					  .evictable = seen->evictable,
				  });
}

/* The launch is no longer on the GPU. If it was there when it was told to leave, reports how long
 * it took. */
static void has_left(struct gs_seen *seen, uint64_t now, struct gs_poll *polled)
{
	seen->order.stands = 0;
	if (seen->order.had_started)
		add_event(polled, &(struct gs_slot_event) {
					  .kind = GS_EV_LEFT,
					  .kernel = seen->kernel,
					  .alone_ns = seen->alone_ns,
					  .ns = now - seen->order.given_ns,
				  });
}

/* The launch's whole time on the GPU: as measured, if it was. Else the longer of the prediction and
 * the time that the polls saw; without a prediction, until the poll that found it ended. */
static uint64_t whole_time(const struct gs_seen *seen, uint64_t now)
{
	uint64_t ns = seen->ran_ns;

	if (seen->timed)
		return seen->alone_ns;
	if (seen->alone_ns)
		return ns > seen->alone_ns ? ns : seen->alone_ns;
	return at_most(ns + (seen->on_gpu_ns ? since(seen->on_gpu_ns, now) : 0),
		       GS_WATCH_ALONE_MAX);
}

/*
 * The time per block-task that the polls saw of a launch that was evicted in between. Such launches
 * are not measured otherwise, and under load they may be all launches of a kernel. 0: its end was
 * not seen precisely enough, or the value agrees with what is known.
 */
static uint64_t seen_tpt_ps(const struct gs_seen *seen, uint64_t now)
{
	uint64_t unsure = seen->on_gpu_ns ? since(seen->on_gpu_ns, now) : 0;
	uint64_t ns = at_most(seen->ran_ns + unsure, GS_WATCH_ALONE_MAX);

	if (!seen->cut || seen->adopted || seen->timed || !seen->nt || unsure > ns / UNSURE_PART)
		return 0;
	if (seen->alone_ns && ns / 2 <= seen->alone_ns && ns >= seen->alone_ns / 2)
		return 0;
	return (uint64_t)((double)ns / (double)seen->nt * 1e3);
}

/* The launch that was live in the slot has ended. */
static void finish(struct gs_watch *w, struct gs_seen *seen, uint64_t now, struct gs_poll *polled)
{
	uint64_t whole = whole_time(seen, now);

	w->past_nt = at_most(w->past_nt + seen->nt, GS_WATCH_NT_MAX);
	w->past_alone_ns = at_most(w->past_alone_ns + seen->alone_ns, GS_WATCH_ALONE_MAX);
	add_event(polled, &(struct gs_slot_event) {
				  .kind = GS_EV_FINISHED,
				  .kernel = seen->kernel,
				  .ns = now - seen->since_ns,
				  .alone_ns = seen->alone_ns,
				  .ran_ns = book(seen, whole),
				  .whole_ns = whole,
				  .nt = seen->nt,
				  .evictable = seen->evictable,
				  .tpt_ps = seen_tpt_ps(seen, now),
				  .dims = seen->dims,
			  });
	seen->live = 0;
	forget_time(seen);
	if (seen->order.stands && seen->order.number == seen->number)
		has_left(seen, now, polled);
}

/* Called once per launch, which may have ended by then. */
static void learn_time(struct gs_seen *seen, const struct snapshot *s, struct gs_poll *polled)
{
	seen->timed = 1;
	seen->alone_ns = s->alone_ns;
	add_event(polled, &(struct gs_slot_event) {
				  .kind = GS_EV_TIMED,
				  .kernel = s->kernel,
				  .alone_ns = s->alone_ns,
				  .tpt_ps = s->tpt_ps,
				  .dims = s->dims,
			  });
}

/* The slot has a new launch. */
static void meet(struct gs_seen *seen, const struct snapshot *s, uint64_t now,
		 struct gs_poll *polled)
{
	/* It may have been told to leave before it was first polled. */
	seen->order.stands = seen->order.stands && seen->order.number == s->number;
	seen->nt = seen->done = seen->alone_ns = 0;
	seen->evictable = (uint8_t)s->evictable;
	forget_time(seen);
	seen->live = 0;
	seen->cut = 0;
	seen->adopted = seen->adopted && !seen->number;
	seen->number = s->number;
	seen->kernel = s->kernel;
	seen->dims = s->dims;
	seen->timed = s->timed != 0;
	seen->since_ns = now;
	add_event(polled, &(struct gs_slot_event) {
				  .kind = GS_EV_LAUNCHED,
				  .kernel = s->kernel,
				  .alone_ns = s->alone_ns,
				  .tpt_ps = s->tpt_ps,
				  .dims = s->dims,
				  .nt = s->nt,
				  .why = s->why,
				  .evictable = (uint8_t)s->evictable,
			  });
	polled->unseen_ns = at_most(polled->unseen_ns + s->untracked_ns, GS_WATCH_ALONE_MAX);
	if (is_live(s->state)) {
		seen->live = 1;
	} else {
		polled->unseen_ns = at_most(polled->unseen_ns + s->alone_ns, GS_WATCH_ALONE_MAX);
		add_event(polled, &(struct gs_slot_event) {
					  .kind = GS_EV_FINISHED,
					  .kernel = s->kernel,
					  .ns = s->alone_ns,
					  .alone_ns = s->alone_ns,
					  .ran_ns = s->alone_ns,
					  .whole_ns = s->alone_ns,
					  .nt = s->nt,
					  .evictable = (uint8_t)s->evictable,
				  });
		if (seen->order.stands)
			has_left(seen, now, polled);
	}
}

/* A launch that was told to leave has left. It counts as preempted only if it had reached the GPU
 * or made progress; else it was only postponed. */
static void left(struct gs_seen *seen, const struct snapshot *s, uint64_t now,
		 struct gs_poll *polled)
{
	if (s->state == GS_K_READY || s->state == GS_K_TORUN)
		has_left(seen, now, polled);
	seen->order.stands = 0;
	if (s->done < s->nt && (seen->order.had_started || s->done > seen->order.done)) {
		polled->preemptions++;
		seen->cut = 1;
		add_event(polled, &(struct gs_slot_event) {
					  .kind = GS_EV_PREEMPTED,
					  .kernel = s->kernel,
					  .alone_ns = s->alone_ns,
				  });
	}
}

/*
 * Equals whose kernels leave within a few milliseconds do better with turns of some 100 ms, because
 * time slices cost two contexts that fill the GPU a tenth of their rate (doc/measurements, big+big)
 * and nobody urgent waits.
 */
#define EQUALS_WAIT_TIMES 8

/* A launch that reports no time to leave does not count as leaving soon. */
static int leaves_within(const struct snapshot *s, uint64_t ns)
{
	return s->evictable && s->leave_ns && s->leave_ns <= ns;
}

static int leaves_soon(const struct gs_watch *w, const struct snapshot *s)
{
	return leaves_within(s, w->leave_most_ns);
}

static void count(const struct gs_watch *w, struct gs_seen *seen, const struct snapshot *s,
		  unsigned i, struct gs_poll *polled)
{
	uint64_t alone_ns = s->alone_ns ? s->alone_ns : UINT64_MAX;

	if (!is_out(s))
		seen->requested_ns = 0;
	polled->ready += s->state == GS_K_READY;
	polled->torun += s->state == GS_K_TORUN;
	polled->running += s->state == GS_K_RUNNING;
	polled->toevict += s->state == GS_K_TOEVICT;
	if (is_out(s)) {
		polled->found.on_gpu += s->started != 0;
		polled->found.off_gpu += s->started == 0;
		polled->found.out[i / 64] |= UINT64_C(1) << i % 64;
	}
	if (is_out(s) && s->started && seen->requested_ns &&
	    (!polled->found.requested_ns || seen->requested_ns < polled->found.requested_ns))
		polled->found.requested_ns = seen->requested_ns;
	polled->found.staying_live += !leaves_soon(w, s);
	polled->found.lasting_live += !leaves_within(s, EQUALS_WAIT_TIMES * w->leave_most_ns);
	if (alone_ns > polled->found.longest_ns)
		polled->found.longest_ns = alone_ns;
	if (!s->few && alone_ns > polled->found.longest_wide_ns)
		polled->found.longest_wide_ns = alone_ns;
	polled->found.staying_out += is_out(s) && !leaves_soon(w, s);
	polled->found.waiting +=
		is_out(s) && s->few && !leaves_soon(w, s) && seen->ran_ns > GS_WATCH_WAITS_NS;
	polled->found.put_back += s->state == GS_K_READY && (s->started || s->preenqueued);
	if (s->state == GS_K_RUNNING && s->started && !s->evictable) {
		polled->found.staying++;
		if (!s->alone_ns && polled->found.staying_ns < GS_WATCH_STAYING_NS)
			polled->found.staying_ns = GS_WATCH_STAYING_NS;
		if (s->alone_ns > polled->found.staying_ns)
			polled->found.staying_ns = s->alone_ns;
	}
	polled->nt = at_most(polled->nt + s->nt, GS_WATCH_NT_MAX);
	polled->done = at_most(polled->done + s->done, GS_WATCH_NT_MAX);
	polled->alone_ns = at_most(polled->alone_ns + s->alone_ns, GS_WATCH_ALONE_MAX);
}

static void read_slot(struct gs_watch *w, struct gs_seen *seen, const struct snapshot *s,
		      uint64_t now, struct gs_poll *polled)
{
	int live = is_live(s->state);

	if (s->state >= GS_K_COUNT) {
		polled->bad++;
		polled->bad_state = s->state;
		return;
	}
	if (s->timed && !seen->timed && s->number == seen->number)
		learn_time(seen, s, polled);
	if (seen->live && (!live || s->number != seen->number))
		finish(w, seen, now, polled);
	/*
	 * In PREP a new number may belong to a launch that is still being prepared. It counts once
	 * a later launch is under way, since numbers ascend. An unused slot shows 1; the first
	 * launch is never missed, since it makes a request. A launch that has been measured has
	 * ended.
	 */
	if (s->number != seen->number &&
	    (s->state != GS_K_PREP || s->timed || (s->number > 1 && s->number < w->last_number)))
		meet(seen, s, now, polled);
	if (!live)
		return;
	if (!seen->live) { /* the client reuses a number, which harms only its own figures */
		seen->live = 1;
		seen->since_ns = now;
		seen->kernel = s->kernel;
		seen->dims = s->dims;
		seen->cut = 0;
		seen->evictable = (uint8_t)s->evictable;
		forget_time(seen);
	}
	if (seen->order.stands && s->state != GS_K_TOEVICT)
		left(seen, s, now, polled);
	seen->nt = s->nt;
	seen->done = s->done;
	seen->alone_ns = s->alone_ns;
	run_on(seen, s, now, polled);
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
		uint64_t number = number_of(&page->slot[i]);

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
		if (is_live(gs_page_load(page->slot[i].state)))
			w->seen[i].adopted = 1;
		else
			w->seen[i] = (struct gs_seen) {
				.number = number_of(&page->slot[i]),
				.timed = (uint8_t)is_timed(&page->slot[i]),
			};
}

/* True for most slots most of the time: not in use, and not used since the last poll. (Number 1:
 * never used.) */
static int nothing_new(const struct gs_seen *seen, const struct gs_slot *slot)
{
	uint64_t number = number_of(slot);

	if (is_timed(slot) && (!seen->timed || number != seen->number))
		return 0;
	return gs_page_load(slot->state) == GS_K_PREP && !seen->live &&
	       (number == seen->number || number == 1);
}

static void poll_until(struct gs_watch *w, const struct gs_page *page, uint64_t highest,
		       uint64_t now, struct gs_poll *polled)
{
	unsigned slots = gs_page_slots(page);

	/* Events are written before they are read, so only the rest is cleared. */
	memset(polled, 0, offsetof(struct gs_poll, event));
	if (highest > w->last_number) {
		polled->launches = at_most(highest - w->last_number, GS_WATCH_NT_MAX);
		w->last_number = highest;
	}
	for (unsigned i = 0; i < slots; i++) {
		struct snapshot s;

		if (nothing_new(&w->seen[i], &page->slot[i]))
			continue;
		s = take(w, &page->slot[i]);
		read_slot(w, &w->seen[i], &s, now, polled);
	}
	polled->found.queued = polled->ready + polled->torun;
	polled->found.live = polled->found.queued + polled->running + polled->toevict;
	polled->nt = at_most(polled->nt + w->past_nt, GS_WATCH_NT_MAX);
	polled->done = at_most(polled->done + w->past_nt, polled->nt);
	polled->alone_ns = at_most(polled->alone_ns + w->past_alone_ns, GS_WATCH_ALONE_MAX);
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
	struct snapshot s = take(w, &page->slot[i]);
	struct gs_seen *seen = &w->seen[i];

	seen->order.stands = 1;
	seen->order.number = s.number;
	seen->order.given_ns = now;
	seen->order.had_started = s.started != 0;
	seen->order.done = s.done;
}
