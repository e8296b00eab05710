/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An idle turn goes to whoever should want it next, before it asks.  Programs that take turns,
 * one computing what the other one has left, ask after each other's ends, and
 * asking takes 22 us where the GPU stands idle meanwhile (doc/results/h200-ask-parts.txt).  When the same client has come several
 * times after the same number of launches of the holder's, the daemon looks once or twice about when the holder should
 * be done, and that client has the turn from then on: it launches without asking anybody.
 *
 * When that should be is told best by the holder's last launch (gs_page.launched_ns): from there to its end it is the hand-over and the
 * kernel, the same each time to some microseconds, while the launch itself comes up to 100 us sooner or later after the turn.
 *
 * Nobody loses by it but a holder that goes on after all: it has to ask this once.  Nothing is on the GPU,
 * and whoever asks in the meantime takes the turn as from any holder that does nothing.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/ahead.h"

#include "common/clock.h"
#include "gpushare/daemon/budget.h"

/* So many times in a row makes it a habit. */
#define SURE 3
/* Whoever comes next has to hear of the end first, which takes about so long. */
#define HEARS_NS (50 * GS_NS_PER_US)
/* Between two looks for the end of a holder after which somebody should come.  Where its launch tells when that is: awake, for so long. */
#define LOOK_NS (25 * GS_NS_PER_US)
#define LOOK_AWAKE_NS (4 * GS_NS_PER_US)
#define AWAKE_NS (40 * GS_NS_PER_US)
/* The end was sooner than it was looked for, nobody knows by how much: the next look is so much sooner. */
#define SOONER_NS (1 * GS_NS_PER_US)
/* A turn of more launches than that goes on without marks (3 us of the GPU each), although its end is not seen then. */
#define MARKED_MOST 4
/* Two looks are a small part of such a turn.  In a shorter one a poor daemon has one, at the end: the next would be after it. */
#define LONG_TURN_NS (1 * GS_NS_PER_MS)

/*
 * The first look should find the holder just done.  Too early costs one look more; too late, as
 * when the other one has asked by then, costs what all this is for.
 */
static void learn_turn(struct gs_next *next, uint64_t took, int asked)
{
	uint64_t is = next->turn_ns, end = took > HEARS_NS ? took - HEARS_NS : 1;

	if (asked)
		next->turn_ns = is && end > is ? is + (end - is) / 4 : end;
	else if (took > is + LOOK_NS)
		next->turn_ns += (took - is) / 4;
	else if (is > LOOK_NS)
		next->turn_ns -= LOOK_NS / 4;
}

/*
 * When the holder made the launch that should be the last one of its turn, if it says; 0: it does not.  The word is the
 * client's: what it first says of a turn stands, or it would be looked after as often as it writes another time.
 */
static uint64_t launched_at(const struct gs_gpu *gpu, uint64_t now)
{
	struct gs_next *next = &gpu->holder->next;
	uint64_t at;

	if (gpu->holder->launches != next->launches)
		return 0;
	if (next->launched_ns < gpu->turn_since) { /* another turn's */
		at = gs_page_load(gpu->holder->p.page->launched_ns);
		next->launched_ns = at >= gpu->turn_since && at <= now ? at : 0;
	}
	return next->launched_ns;
}

/* The holder was done by then; a look before may have seen that it was not. */
static void learn_tail(const struct gs_gpu *gpu, uint64_t over, uint64_t now)
{
	struct gs_next *next = &gpu->holder->next;
	uint64_t at = launched_at(gpu, now), was = over > at ? over - at : 0;
	uint64_t beyond = next->seen_live_ns > at ? next->seen_live_ns - at : 0;

	if (!at)
		next->tail_ns = 0;
	else if (next->tail_ns && beyond > next->tail_ns)
		next->tail_ns = beyond + SOONER_NS;
	else if (was && (!next->tail_ns || was < next->tail_ns))
		next->tail_ns = was;
	else if (next->tail_ns > SOONER_NS && gpu->look_ns <= LOOK_AWAKE_NS) /* too soon costs a look at once */
		next->tail_ns -= SOONER_NS;
}

uint64_t gs_ahead_due(const struct gs_gpu *gpu, uint64_t now, uint64_t *again)
{
	const struct gs_next *next = &gpu->holder->next;
	uint64_t at = launched_at(gpu, now), due = gpu->turn_since + next->turn_ns;
	uint64_t early = gpu->turn_since + next->turn_ns / 4 * 3;
	int affords = gpu->look_ns < GS_BUDGET_POOR_NS || next->turn_ns >= LONG_TURN_NS;

	if (at && next->tail_ns)
		due = at + next->tail_ns;
	else if (next->tail_ns && now < early && affords) /* the first look is for the launch */
		due = early;
	if (now >= due)
		*again = at && now < due + AWAKE_NS ? LOOK_AWAKE_NS : LOOK_NS + (now - due) / 4;
	return due;
}

int gs_ahead_wants_marks(const struct gs_gpu *gpu)
{
	return gs_ahead_next(gpu) && gpu->holder->next.launches <= MARKED_MOST;
}

void gs_ahead_came(struct gs_gpu *gpu, const struct gs_tenant *t, uint64_t now)
{
	struct gs_tenant *holder = gpu->holder, *from;
	uint64_t took = now > gpu->turn_since ? now - gpu->turn_since : 0;
	struct gs_next *next;

	if (!holder)
		return;
	next = &holder->next;
	if (holder->ahead) { /* it was not the one to come next */
		from = gs_gpu_find(gpu, gpu->ahead_from);
		if (from)
			from->next.sure = 0;
	} else if (holder->task) {
		next->sure = 0;
	} else {
		next->sure = next->id == t->p.id && next->launches == holder->launches ? next->sure + 1 : 0;
		next->id = t->p.id;
		if (next->launches != holder->launches)
			next->launched_ns = 0; /* of one that was not the last */
		next->launches = holder->launches;
		learn_turn(next, took, 1);
		learn_tail(gpu, now - HEARS_NS, now);
	}
}

struct gs_tenant *gs_ahead_next(const struct gs_gpu *gpu)
{
	const struct gs_tenant *holder = gpu->holder;
	struct gs_tenant *t;

	if (!holder || gs_holders_any(gpu) || holder->next.sure < SURE || holder->p.force_ns || gpu->pinned || gpu->gauge.on)
		return NULL;
	/* It goes on instead: perhaps for hours, with each launch marked and looked after. */
	if (holder->launches > holder->next.launches)
		return NULL;
	t = gs_gpu_find(gpu, holder->next.id);
	/* What did not leave when it last lost the turn would be its turn's again, and be waited for again. */
	return t && t != holder && !t->live && !t->stopped && !t->bad && !t->p.force_ns &&
	       t->p.attended != GS_ATTENDED_NOT ? t : NULL;
}

/* It does nothing yet, as far as anybody knows: its pace begins when it is seen to. */
static void give_idle(struct gs_gpu *gpu, struct gs_tenant *t, uint64_t now)
{
	gs_turn_give(gpu, t, now);
	t->base_ns = t->expected_ns = 0;
	t->idle_since = now;
}

/*
 * It has launched in that very moment.  Nobody waits, so it goes on: if it could not leave, it would be
 * waited for until EvictDeadline and be overdue, which may cost it its job.
 */
static void take_back(struct gs_gpu *gpu, struct gs_tenant *t, uint64_t launches, uint64_t now)
{
	gpu->leaving = NULL;
	give_idle(gpu, t, now);
	gpu->turn_since = gpu->left_since;
	t->launches += launches;
}

void gs_ahead_turn(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_tenant *holder = gpu->holder, *t;
	uint64_t launches, took;

	if (holder && holder->live)
		holder->next.seen_live_ns = now;
	if (!holder || holder->task || holder->live || gpu->leaving || gpu->starting || gs_sched_count(gpu->sched) ||
	    holder->ahead || !holder->launches || holder->launches != holder->next.launches)
		return;
	t = gs_ahead_next(gpu);
	if (!t)
		return;
	took = now > gpu->turn_since ? now - gpu->turn_since : 0;
	launches = holder->launches;
	learn_tail(gpu, now, now);
	gs_turn_take(gpu, 0, now);
	if (gpu->leaving) {
		take_back(gpu, holder, launches, now);
		return;
	}
	learn_turn(&holder->next, took, 0);
	t->ahead_number = gs_watch_highest(t->p.page);
	give_idle(gpu, t, now);
	t->ahead = 1;
	gpu->ahead_from = holder->p.id;
}
