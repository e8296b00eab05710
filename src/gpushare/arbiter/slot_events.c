/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened to the launches of one slot; see slot_events.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/slot_events.h"

/*
 * A launch's time is used if at most this part of it, 1/UNSURE_PART, is uncertainty about its end.
 */
#define UNSURE_PART 4

static void add_event(struct gs_poll *polled, const struct gs_slot_event *event)
{
	if (polled->nevents < GS_WATCH_SLOT_EVENTS * GS_PAGE_SLOTS)
		polled->event[polled->nevents++] = *event;
}

void gs_slot_forget_time(struct gs_seen *seen)
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

void gs_slot_run_on(struct gs_seen *seen, const struct gs_snapshot *s, uint64_t now,
		    struct gs_poll *polled)
{
	int on_gpu = gs_snapshot_is_out(s) && s->started;

	if (seen->on_gpu_ns)
		seen->ran_ns =
			gs_at_most(seen->ran_ns + since(seen->on_gpu_ns, now), GS_WATCH_ALONE_MAX);
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

/* What is predicted, or the rest of the time that has passed. */
static uint64_t claim(struct gs_watch *w, uint64_t ns)
{
	uint64_t claimed = gs_at_most(ns, w->unclaimed_ns);

	w->unclaimed_ns -= claimed;
	return claimed;
}

/* What the polls have not seen of the predicted time, or of the launch's whole life if that is
 * shorter. */
static uint64_t rest(const struct gs_seen *seen, uint64_t now)
{
	return since(seen->ran_ns, gs_at_most(seen->alone_ns, since(seen->not_before_ns, now)));
}

/* The launch's whole time on the GPU: as measured, if it was. Else the longer of the prediction and
 * the time that the polls saw; without a prediction, until the poll that found it ended. */
static uint64_t whole_time(struct gs_watch *w, const struct gs_seen *seen, uint64_t now)
{
	uint64_t ns = seen->ran_ns;

	if (seen->timed)
		return seen->alone_ns;
	if (seen->alone_ns)
		return ns > seen->alone_ns ? ns : ns + claim(w, rest(seen, now));
	return gs_at_most(ns + (seen->on_gpu_ns ? since(seen->on_gpu_ns, now) : 0),
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
	uint64_t ns = gs_at_most(seen->ran_ns + unsure, GS_WATCH_ALONE_MAX);

	if (!seen->cut || seen->adopted || seen->timed || !seen->nt || unsure > ns / UNSURE_PART)
		return 0;
	if (seen->alone_ns && ns / 2 <= seen->alone_ns && ns >= seen->alone_ns / 2)
		return 0;
	return (uint64_t)((double)ns / (double)seen->nt * 1e3);
}

void gs_slot_finish(struct gs_watch *w, struct gs_seen *seen, uint64_t now, struct gs_poll *polled)
{
	uint64_t whole = whole_time(w, seen, now);

	w->past_nt = gs_at_most(w->past_nt + seen->nt, GS_WATCH_NT_MAX);
	w->past_alone_ns = gs_at_most(w->past_alone_ns + seen->alone_ns, GS_WATCH_ALONE_MAX);
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
	polled->ended_ns =
		gs_at_most(polled->ended_ns + since(seen->ran_ns, whole), GS_WATCH_ALONE_MAX);
	seen->live = 0;
	gs_slot_forget_time(seen);
	if (seen->order.stands && seen->order.number == seen->number)
		has_left(seen, now, polled);
}

void gs_slot_learn_time(struct gs_seen *seen, const struct gs_snapshot *s, struct gs_poll *polled)
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

void gs_slot_meet(struct gs_watch *w, struct gs_seen *seen, const struct gs_snapshot *s,
		  uint64_t now, struct gs_poll *polled)
{
	uint64_t took;

	/* It may have been told to leave before it was first polled. */
	seen->order.stands = seen->order.stands && seen->order.number == s->number;
	seen->nt = seen->done = seen->alone_ns = 0;
	seen->evictable = (uint8_t)s->evictable;
	gs_slot_forget_time(seen);
	seen->live = 0;
	seen->cut = 0;
	seen->adopted = seen->adopted && !seen->number;
	seen->number = s->number;
	seen->kernel = s->kernel;
	seen->dims = s->dims;
	seen->timed = s->timed != 0;
	seen->since_ns = now;
	seen->not_before_ns = w->polled_before_ns;
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
	polled->untracked_ns =
		gs_at_most(polled->untracked_ns + s->untracked_ns, GS_WATCH_ALONE_MAX);
	polled->unseen_ns = gs_at_most(polled->unseen_ns + s->untracked_ns, GS_WATCH_ALONE_MAX);
	if (gs_snapshot_is_live(s->state)) {
		seen->live = 1;
	} else {
		took = s->timed ? s->alone_ns : claim(w, s->alone_ns);
		polled->unseen_ns = gs_at_most(polled->unseen_ns + took, GS_WATCH_ALONE_MAX);
		add_event(polled, &(struct gs_slot_event) {
					  .kind = GS_EV_FINISHED,
					  .kernel = s->kernel,
					  .ns = took,
					  .alone_ns = s->alone_ns,
					  .ran_ns = took,
					  .whole_ns = took < s->alone_ns ? 0 : took,
					  .nt = s->nt,
					  .evictable = (uint8_t)s->evictable,
				  });
		if (seen->order.stands)
			has_left(seen, now, polled);
	}
}

void gs_slot_left(struct gs_seen *seen, const struct gs_snapshot *s, uint64_t now,
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
