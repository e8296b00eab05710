/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinetic tournaments over the ready heap; see first.h. */
#include "gpushare/sched/first.h"

#include <stdlib.h>
#include <string.h>

#define GROUP 8

/*
 * Winners are numbered from the groups of places on, level by level.  Each level but the last two is a
 * multiple of GROUP, so that this holds on all.
 */
static size_t group_of(const struct gs_tournaments *all, size_t winner)
{
	return all->groups + winner / GROUP;
}

/* The number of the winner of all. */
static size_t last_of(const struct gs_tournaments *all)
{
	size_t last = 0;

	for (size_t level = all->groups; level > 1; level = (level + GROUP - 1) / GROUP)
		last += level;
	return last;
}

void gs_tournaments_fini(struct gs_tournaments *all)
{
	for (int i = 0; i < GS_ORDERS_MAX; i++)
		free(all->by[i].winner);
}

void gs_tournaments_forget(struct gs_tournaments *all)
{
	for (int i = 0; i < GS_ORDERS_MAX; i++)
		all->by[i].order = NULL;
}

void gs_tournaments_reserve(struct gs_tournaments *all, size_t room)
{
	gs_tournaments_fini(all);
	memset(all->by, 0, sizeof(all->by));
	all->groups = room / GROUP;
}

static int same_state(const struct gs_tournament *t, const struct gs_view *view)
{
	return !t->order->of_state || memcmp(t->state, view->state, sizeof(t->state)) == 0;
}

/* Does x, whose place is the later one, go before y? */
static int is_before(const struct gs_order *order, double lead, const struct gs_entry *x,
		     const struct gs_entry *y)
{
	if (lead > 0 || lead < 0)
		return lead > 0;
	return !order->by_place && x->task->seq < y->task->seq;
}

/* The first of them, in the order of their places, becomes the winner; none of them has changed before `until`. */
static void play_off(const struct gs_order *order, const struct gs_view *view, struct gs_winner *w,
		     const struct gs_entry *const *entry, size_t count, uint64_t until)
{
	double value[GROUP];
	size_t first = 0;

	for (size_t i = 0; i < count; i++) {
		value[i] = order->value(view, entry[i]);
		if (i > 0 && is_before(order, value[i] - value[first], entry[i], entry[first]))
			first = i;
	}
	for (size_t i = 0; i < count && order->until; i++) {
		uint64_t ahead = i == first ? until
			: order->until(view, entry[first], entry[i], value[first] - value[i]);

		if (ahead <= view->now)
			ahead = view->now + 1; /* it is now: they have been compared */
		if (ahead < until)
			until = ahead;
	}
	w->until = until;
	if (count)
		w->entry = *entry[first];
	else
		w->entry.task = NULL;
}

/* The winner of this number; plays what is uncertain. */
static const struct gs_winner *play(struct gs_tournament *t, const struct gs_view *view, size_t number)
{
	size_t groups = view->tournaments->groups, count = 0;
	struct gs_winner *w = &t->winner[number];
	const struct gs_entry *entry[GROUP];
	uint64_t until = GS_NO_LIMIT;

	if (view->now < w->until)
		return w;
	if (number < groups) {
		for (size_t at = number * GROUP; at < view->count && count < GROUP; at++)
			entry[count++] = &view->ready[at];
	} else {
		size_t from = (number - groups) * GROUP;

		for (size_t i = from; i < from + GROUP && i < number; i++) {
			const struct gs_winner *below = play(t, view, i);

			if (below->until < until)
				until = below->until;
			if (below->entry.task)
				entry[count++] = &below->entry;
		}
	}
	play_off(t->order, view, w, entry, count, until);
	return w;
}

/* Until when the newcomer surely goes after this winner; 0: it has won, or who has is not certain any more. */
static uint64_t challenge(const struct gs_order *order, const struct gs_view *view, struct gs_winner *w,
			  const struct gs_entry *newcomer)
{
	uint64_t until = GS_NO_LIMIT;
	double lead;
	int wins;

	if (!w->entry.task) {
		w->entry = *newcomer;
		return 0;
	}
	lead = order->value(view, &w->entry) - order->value(view, newcomer);
	wins = lead < 0;
	if (!wins && !(lead > 0)) {
		w->until = 0;
		return 0;
	}
	if (order->until)
		until = wins ? order->until(view, newcomer, &w->entry, -lead)
			     : order->until(view, &w->entry, newcomer, lead);
	if (until < w->until)
		w->until = until;
	if (wins)
		w->entry = *newcomer;
	return wins ? 0 : until;
}

static void change(struct gs_tournament *t, const struct gs_view *view, size_t number, size_t last,
		   const struct gs_task *out, const struct gs_entry *in)
{
	uint64_t loses = 0; /* until then to a winner, and so to those that win above it */

	if (t->now < view->now)
		t->now = view->now;
	for (;; number = group_of(view->tournaments, number)) {
		struct gs_winner *w = &t->winner[number];

		if (out && w->entry.task == out)
			w->until = 0;
		if (in && view->now < w->until && loses < w->until)
			loses = challenge(t->order, view, w, in);
		if (number == last)
			return;
	}
}

void gs_tournaments_change(struct gs_tournaments *all, size_t at, const struct gs_task *out,
			   const struct gs_entry *in)
{
	for (struct gs_tournament *t = all->by; t < all->by + GS_ORDERS_MAX; t++) {
		if (!t->order)
			continue;
		if (same_state(t, all->view))
			change(t, all->view, at / GROUP, last_of(all), out, in);
		else
			t->order = NULL;
	}
}

/* The tournament by this order, as far as it is certain still; NULL: there is no place or no memory for it. */
static struct gs_tournament *find(const struct gs_view *view, const struct gs_order *order)
{
	struct gs_tournament *t = view->tournaments->by, *end = t + GS_ORDERS_MAX;
	size_t winners = last_of(view->tournaments) + 1;

	while (t < end && t->order && t->order != order)
		t++;
	if (t == end)
		return NULL;
	if (!t->winner)
		t->winner = calloc(winners, sizeof(*t->winner));
	if (!t->winner)
		return NULL;
	/* A winner is certain from when it was found on. */
	if (t->order != order || view->now < t->now || !same_state(t, view))
		memset(t->winner, 0, winners * sizeof(*t->winner));
	t->order = order;
	t->now = view->now;
	memcpy(t->state, view->state, sizeof(t->state));
	return t;
}

const struct gs_entry *gs_first_of_many(const struct gs_view *view, const struct gs_order *order)
{
	struct gs_tournament *t = find(view, order);

	return t ? &play(t, view, last_of(view->tournaments))->entry : gs_first_of_few(view, order);
}
