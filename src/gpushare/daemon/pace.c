/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to look again; see pace.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/pace.h"

#include "common/clock.h"
#include "gpushare/daemon/ahead.h"
#include "gpushare/daemon/budget.h"
#include "gpushare/daemon/early.h"

/* Looks do not follow each other sooner than the daemon can afford (budget.h): gpu->look_ns. */
#define POLL_POOR_NS (60 * GS_NS_PER_US) /* where the GPU stands idle meanwhile */

/* A client on its way out: all the time when it should be gone, then less and less. */
#define LEAVE_SOON_NS (100 * GS_NS_PER_US)
#define LEAVE_SLEEP_NS (60 * GS_NS_PER_US) /* a shorter way out is not slept through */
#define DRAIN_FAST_NS (20 * GS_NS_PER_MS)
#define POLL_LEAVING_NS (1 * GS_NS_PER_US)
#define POLL_DRAINING_NS (15 * GS_NS_PER_US)
#define POLL_LEFT_BEHIND_NS (500 * GS_NS_PER_US)
/* The holder, while others wait: often about when it should be done, seldom far from it. */
#define NEAR_NS (15 * GS_NS_PER_US)
#define POLL_ENDING_NS (1 * GS_NS_PER_US)
#define POLL_LATE_NS (10 * GS_NS_PER_US)
#define POLL_CONTENDED_NS (500 * GS_NS_PER_US)
#define POLL_UNKNOWN_NS (100 * GS_NS_PER_US)
#define POLL_ALONE_NS (20 * GS_NS_PER_MS)
#define POLL_AWAITED_NS (10 * GS_NS_PER_US)
#define POLL_STARTING_NS (10 * GS_NS_PER_US)
#define POLL_STARTING_SOON_NS (1 * GS_NS_PER_US)
#define STARTING_SLEEP_NS (60 * GS_NS_PER_US) /* a shorter way to the GPU is not slept through: the quantum would begin late */
/* Whoever is woken for its turn stays awake for 200 us (shim). */
#define HERALD_NS (100 * GS_NS_PER_US)
#define HERALD_LATE_NS (600 * GS_NS_PER_US) /* by then nobody knows when it ends */
/*
 * The end of a quantum is known beforehand, and a processor that has gone to sleep is there late (10 us,
 * 60 for one in ten: doc/results): it is woken before, and waits closely for the end.
 */
#define POLL_QUANTUM_NS (60 * GS_NS_PER_US)
/* A decision whose time has come although nothing may be done yet. */
#define POLL_DECISION_NS (50 * GS_NS_PER_US)
/* What one end may teach of the next ones, and all of them. */
#define LAG_STEP_NS ((int64_t)(400 * GS_NS_PER_US))
#define LAG_MOST_NS ((int64_t)(1 * GS_NS_PER_MS))
/* Beyond the gap that is expected. */
#define GRACE_MORE_NS (20 * GS_NS_PER_US)

int gs_pace_contended(const struct gs_gpu *gpu)
{
	size_t others = gs_sched_count(gpu->sched);

	return others > (gpu->holder && gpu->holder->task ? 1u : 0u);
}

/* ---- what is known of a client ---------------------------------------- */

uint64_t gs_pace_grace(const struct gs_tenant *t)
{
	/*
	 * One that launches beside the others without asking loses little if they go on in its pauses: a program that launches more
	 * slowly than the GPU computes pauses all the time, and the driver's time slices fill its pauses, too.
	 */
	uint64_t most = t->gpu->o.idle_grace_ns / (gs_holders_stays_on(t) ? 8 : 1), wait;
	/* The first kernel after a pause may begin a chain as the one before the pause did. */
	uint64_t gap = t->gap_before_ns && t->gap_before_ns < t->gap_ns ? t->gap_before_ns : t->gap_ns;

	if (!gap)
		return most / 8;
	if (gap > most)
		return 0;
	wait = gap + gap / 2 + GRACE_MORE_NS;
	return wait < most ? wait : most;
}

/*
 * The GPU does not say when a kernel begins that is left as it is, so the guess begins with the
 * turn, and is off by the way to the GPU: 160 us in contexts, 70 under MPS beside the block-tasks that
 * leave (H200, a 1 ms kernel beside long ones; its end was seen 25 us late, for 200 us of looking).  One
 * that goes on is there sooner than one that begins: 140 us and 200 after an end.
 */
static void learn_lag(struct gs_tenant *t, int64_t late)
{
	int64_t *is = &t->lag_ns[t->goes_on][t->base];

	late = late > LAG_STEP_NS ? LAG_STEP_NS : late < -LAG_STEP_NS ? -LAG_STEP_NS : late;
	*is += late / 4;
	*is = *is > LAG_MOST_NS ? LAG_MOST_NS : *is < -LAG_MOST_NS ? -LAG_MOST_NS : *is;
}

void gs_pace_idle(struct gs_tenant *t, uint64_t seen_live_ns, uint64_t now)
{
	t->ended_ns = now;
	t->not_early -= t->not_early > 0;
	if (t->expected_ns) {
		uint64_t off;
		int64_t late = 0;

		if (t->expected_ns > now)
			late = -(int64_t)(t->expected_ns - now);
		else if (t->expected_ns < seen_live_ns)
			late = (int64_t)(seen_live_ns - t->expected_ns);
		off = (uint64_t)(late < 0 ? -late : late);
		t->off_ns = t->off_ns ? (3 * t->off_ns + off) / 4 : off + 1;
		learn_lag(t, late);
	}
	t->expected_ns = t->base_ns = 0;
}

void gs_pace_busy(struct gs_tenant *t, uint64_t now)
{
	if (t->ended_ns) {
		t->gap_before_ns = t->gap_ns;
		t->gap_ns = now > t->ended_ns ? now - t->ended_ns : 1;
	}
}

void gs_pace_begin(struct gs_tenant *t, enum gs_pace_base base, uint64_t now)
{
	uint64_t nt = t->told_nt ? t->told_nt : 1;

	t->base_ns = now;
	t->base = base;
	t->goes_on = t->told_done > 0;
	t->base_done_ns = (uint64_t)((double)t->told_alone_ns * (double)t->told_done / (double)nt);
	gs_pace_expect(t);
}

void gs_pace_expect(struct gs_tenant *t)
{
	int64_t lag = t->lag_ns[t->goes_on][t->base];
	uint64_t takes;

	t->expected_ns = 0;
	if (!t->base_ns || t->told_alone_ns <= t->base_done_ns)
		return;
	takes = t->told_alone_ns - t->base_done_ns;
	if (lag < 0 && takes <= (uint64_t)-lag)
		lag = 0;
	t->expected_ns = t->base_ns + takes + (uint64_t)lag;
}

/* ---- when to look ------------------------------------------------------ */

static uint64_t afford(const struct gs_gpu *gpu, uint64_t ns)
{
	return ns > gpu->look_ns ? ns : gpu->look_ns;
}

/* The same where the GPU may stand idle until somebody looks. */
static uint64_t afford_soon(const struct gs_gpu *gpu, uint64_t ns)
{
	uint64_t look_ns = gpu->look_ns;

	if (look_ns > POLL_POOR_NS)
		look_ns = look_ns / 4 > POLL_POOR_NS ? look_ns / 4 : POLL_POOR_NS;
	return ns > look_ns ? ns : look_ns;
}

/*
 * The holder while others wait.  Far from the expected end: after half of what seems
 * left, so that who is done much sooner is seen.  Near it, which is as near as it was foreseen
 * the last times, closely; nobody sleeps past the beginning of that.
 */
static uint64_t ending(const struct gs_tenant *t, uint64_t now)
{
	uint64_t margin = 2 * t->off_ns + NEAR_NS, poll, most;

	if (!t->expected_ns)
		return afford(t->gpu, POLL_UNKNOWN_NS);
	if (now + margin < t->expected_ns) {
		/* It may be wrong this time, and end at any moment. */
		most = (t->expected_ns - now) / 2;
		poll = t->expected_ns - margin - now;
		if (most < POLL_CONTENDED_NS)
			most = POLL_CONTENDED_NS;
		return afford(t->gpu, poll < most ? poll : most);
	}
	if (now < t->expected_ns + margin)
		poll = margin / 8 > POLL_ENDING_NS + NEAR_NS ? margin / 8 - NEAR_NS : POLL_ENDING_NS;
	else
		poll = (now - t->expected_ns) / 4 > POLL_LATE_NS ? (now - t->expected_ns) / 4 :
								  POLL_LATE_NS;
	poll = afford_soon(t->gpu, poll);
	return poll < POLL_CONTENDED_NS ? poll : POLL_CONTENDED_NS;
}

/* A client on its way out, which says how long that takes or does not. */
static uint64_t leaving(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t since = now - gpu->drain_since, leave = gpu->leave_ns, soon = LEAVE_SOON_NS;
	uint64_t poll = POLL_LEAVING_NS, next, lead;

	if (gpu->ends_by)
		return now + afford_soon(gpu, gs_early_next(gpu, now));
	if (leave < DRAIN_FAST_NS) {
		/* By its own account at the latest; most leave sooner. */
		if (leave > LEAVE_SLEEP_NS && since < leave / 5 * 2)
			poll = leave / 5 * 2 - since;
		else if (poll < leave / 64)
			poll = leave / 64;
		soon = 2 * leave + LEAVE_SOON_NS;
	}
	if (since >= soon)
		poll = since < DRAIN_FAST_NS ? POLL_DRAINING_NS : POLL_LEFT_BEHIND_NS;
	if (since >= soon && poll < since / 8 && since < DRAIN_FAST_NS)
		poll = since / 8 < POLL_LEFT_BEHIND_NS ? since / 8 : POLL_LEFT_BEHIND_NS;
	next = now + afford_soon(gpu, poll);
	/* When the next client may have the turn (gs_turn_overlap()). */
	lead = gpu->o.overlap_ns < leave ? leave - gpu->o.overlap_ns : 0;
	if (!gpu->holder && leave < DRAIN_FAST_NS && since < lead && gpu->drain_since + lead < next)
		next = gpu->drain_since + lead;
	return next;
}

/* The turn is expected to end then, by itself or by the scheduler; UINT64_MAX: no idea. */
static uint64_t expected_end(const struct gs_gpu *gpu)
{
	const struct gs_tenant *t = gpu->holder;
	uint64_t end = UINT64_MAX;

	if (!t && gpu->leaving) /* perhaps at once, if it does not say */
		return gpu->drain_since + (gpu->leave_ns != UINT64_MAX ? gpu->leave_ns : 0);
	if (t && t->live && t->expected_ns)
		end = t->expected_ns;
	return t && gpu->deadline < end ? gpu->deadline : end;
}

int gs_pace_is_ending(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t end = expected_end(gpu);

	return end != UINT64_MAX && now + HERALD_NS >= end && now < end + HERALD_LATE_NS;
}

/*
 * In which stretch of time this client should come, if the daemon can afford to await it.  Not one that sends BELL:
 * it may have read that somebody is awake, and ask when nobody is any more, with nobody to be woken.
 */
static int awaited(const struct gs_tenant *t, uint64_t now, uint64_t *from, uint64_t *to)
{
	return t->p.attended == GS_ATTENDED && !t->task && !t->holding.beside && !t->stopped && t != t->gpu->holder &&
	       t != t->gpu->leaving && t->gpu->look_ns < GS_BUDGET_POOR_NS &&
	       gs_arrival_next(&t->arrival, now > t->heard_ns ? now : t->heard_ns, from, to);
}

int gs_pace_is_awaited(const struct gs_tenant *t, uint64_t now, uint64_t *until)
{
	uint64_t from;

	return awaited(t, now, &from, until) && now >= from;
}

static uint64_t next_arrival(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t next = UINT64_MAX, from, to;
	const struct gs_tenant *t;

	LIST_FOREACH(t, &gpu->tenants, link)
		if (awaited(t, now, &from, &to)) {
			/* Whoever is here is not the loop, or it would be awaited already. */
			from = t->awaited && from <= now ? to : from > now ? from : now + POLL_AWAITED_NS;
			next = from < next ? from : next;
		}
	return next;
}

/* Until the quantum is over. */
static uint64_t quantum_end(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t left;

	if (gpu->pinned) /* nothing is decided */
		return UINT64_MAX;
	if (gpu->deadline <= now)
		return now + POLL_DECISION_NS;
	left = gpu->deadline - now;
	if (gpu->deadline == UINT64_MAX || !gs_pace_contended(gpu) || gpu->look_ns > GS_BUDGET_POOR_NS)
		return gpu->deadline;
	if (left > POLL_QUANTUM_NS)
		return gpu->deadline - POLL_QUANTUM_NS;
	if (left > NEAR_NS)
		return gpu->deadline - NEAR_NS;
	left = left < POLL_ENDING_NS ? left : POLL_ENDING_NS;
	return now + afford(gpu, left) < gpu->deadline ? now + afford(gpu, left) : gpu->deadline;
}

/*
 * Nobody waits, but somebody should come after the holder (ahead.c).  When the holder should be done, for nearly whatever
 * the daemon can afford: being asked would take more of its time, but whoever asks is made to rest.
 */
static uint64_t before_next(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t again, due = gs_ahead_due(gpu, now, &again);

	return now < due ? afford_soon(gpu, due - now) : afford(gpu, again);
}

uint64_t gs_pace_next(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_tenant *t, *holder = gpu->holder;
	uint64_t next = quantum_end(gpu, now);
	uint64_t poll = holder ? POLL_ALONE_NS : UINT64_MAX, end;

	if (gpu->leaving)
		return leaving(gpu, now);
	end = next_arrival(gpu, now);
	next = end < next ? end : next;
	end = gs_force_next(gpu, now);
	next = end < next ? end : next;
	if (gpu->starting) {
		uint64_t soonest = gpu->starting_since + gpu->o.sched.handover_ns / 4 * 3;

		if (gpu->look_ns > GS_BUDGET_POOR_NS) /* once, when it should have begun */
			soonest += gpu->o.sched.handover_ns / 4;
		else if (gpu->o.sched.handover_ns < STARTING_SLEEP_NS)
			return now + afford(gpu, POLL_STARTING_SOON_NS);
		next = now + afford(gpu, POLL_STARTING_NS);
		return next > soonest ? next : soonest;
	}
	LIST_FOREACH(t, &gpu->tenants, link)
		if (t->on_gpu || t->off_gpu)
			poll = POLL_ALONE_NS;
	if (gs_pace_contended(gpu)) {
		poll = holder && holder->live ? ending(holder, now) : POLL_CONTENDED_NS;
		end = expected_end(gpu);
		if (end != UINT64_MAX && gpu->look_ns <= GS_BUDGET_POOR_NS && end > now + HERALD_NS &&
		    end - HERALD_NS < next)
			next = end - HERALD_NS;
	} else if (gs_ahead_next(gpu)) {
		poll = before_next(gpu, now);
		poll = poll < POLL_ALONE_NS ? poll : POLL_ALONE_NS;
	}
	if (poll != UINT64_MAX && now + poll < next)
		next = now + poll;
	end = gs_early_at(gpu, now);
	if (end < next) {
		uint64_t soonest = now + afford_soon(gpu, POLL_ENDING_NS);

		next = end > soonest ? end : soonest;
	}
	if (holder && holder->task && holder->idle_since && gs_pace_contended(gpu) &&
	    holder->idle_since + gs_pace_grace(holder) < next)
		next = holder->idle_since + gs_pace_grace(holder);
	return next;
}
