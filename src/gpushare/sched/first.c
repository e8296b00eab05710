/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinetic tournaments over the ready heap; see first.h. */
#include "gpushare/sched/first.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_PER_PLACE 8 /* that remembers its winner */

int gs_tournaments_reserve(struct gs_tournaments *all, size_t room)
{
	size_t places = room / ENTRIES_PER_PLACE;

	for (int i = 0; i < GS_ORDERS_MAX; i++) {
		struct gs_winner *grown = all->by[i].winner;

		if (!grown)
			continue;
		grown = realloc(grown, places * sizeof(*grown));
		if (!grown)
			return -1;
		memset(grown + all->places, 0, (places - all->places) * sizeof(*grown));
		all->by[i].winner = grown;
	}
	all->places = places;
	return 0;
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

static int same_state(const struct gs_tournament *t, const struct gs_view *view)
{
	return !t->order->of_state || memcmp(t->state, view->state, sizeof(t->state)) == 0;
}

static int is_before(const struct gs_order *order, double lead, const struct gs_task *x,
		     const struct gs_task *y)
{
	if (lead > 0 || lead < 0)
		return lead > 0;
	return order->by_place ? x->heap_at < y->heap_at : x->seq < y->seq;
}

/* `w` becomes the winner of both.  Until when it surely is ahead of the other one; 0: it is not, but alike. */
static uint64_t meet(const struct gs_order *order, const struct gs_view *view, struct gs_winner *w,
		     const struct gs_winner *other)
{
	double lead = order->value(view, &w->entry) - order->value(view, &other->entry);
	uint64_t both = w->until < other->until ? w->until : other->until, until = GS_NO_LIMIT;
	int tied = !(lead > 0 || lead < 0);
	int stays = is_before(order, lead, w->entry.task, other->entry.task);

	if (order->until)
		until = stays ? order->until(view, &w->entry, &other->entry, lead)
			      : order->until(view, &other->entry, &w->entry, -lead);
	if (!stays)
		*w = *other;
	if (until <= view->now)
		until = view->now + 1; /* it is now: they have been compared */
	w->until = until < both ? until : both;
	w->tied |= tied;
	return tied ? 0 : until;
}

static void change(struct gs_tournament *t, const struct gs_view *view, size_t at, size_t top,
		   const struct gs_task *out, const struct gs_entry *in)
{
	struct gs_winner newcomer = { .until = GS_NO_LIMIT };
	uint64_t loses = 0; /* until then to a winner, and so to those that win above it */

	if (in)
		newcomer.entry = *in;
	if (t->now < view->now)
		t->now = view->now;
	for (;; at = (at - 1) / 2) {
		struct gs_winner *w = &t->winner[at];

		if (out && w->entry.task == out)
			w->until = 0;
		if (in && view->now < w->until && loses < w->until) {
			uint64_t until = meet(t->order, view, w, &newcomer);

			loses = w->entry.task == in->task ? 0 : until;
		}
		if (at <= top)
			return;
	}
}

void gs_tournaments_change(struct gs_tournaments *all, size_t at, size_t top,
			   const struct gs_task *out, const struct gs_entry *in)
{
	while (at >= all->places && at > top)
		at = (at - 1) / 2;
	for (struct gs_tournament *t = all->by; t < all->by + GS_ORDERS_MAX; t++) {
		if (!t->order || at >= all->places)
			continue;
		if (same_state(t, all->view))
			change(t, all->view, at, top, out, in);
		else
			t->order = NULL;
	}
}

void gs_tournaments_moved(struct gs_tournaments *all, size_t at)
{
	for (struct gs_tournament *t = all->by; t < all->by + GS_ORDERS_MAX; t++)
		for (size_t up = at + 1; t->order && t->order->by_place && up > 0; up /= 2)
			if (up <= all->places && t->winner[up - 1].tied)
				t->winner[up - 1].until = 0;
}

/* The tournament by this order, as far as it is certain still; NULL: there is no place or no memory for it. */
static struct gs_tournament *find(const struct gs_view *view, const struct gs_order *order)
{
	struct gs_tournament *t = view->tournaments->by, *end = t + GS_ORDERS_MAX;

	while (t < end && t->order && t->order != order)
		t++;
	if (t == end)
		return NULL;
	if (!t->winner)
		t->winner = calloc(view->tournaments->places, sizeof(*t->winner));
	if (!t->winner)
		return NULL;
	/* A winner is certain from when it was found on. */
	if (t->order != order || view->now < t->now || !same_state(t, view))
		memset(t->winner, 0, view->tournaments->places * sizeof(*t->winner));
	t->order = order;
	t->now = view->now;
	memcpy(t->state, view->state, sizeof(t->state));
	return t;
}

/* Who wins from this place down; plays what is uncertain.  *spare is for a place that does not remember it. */
static const struct gs_winner *play(struct gs_tournament *t, const struct gs_view *view, size_t at,
				    struct gs_winner *spare)
{
	int remembers = at < view->tournaments->places;
	struct gs_winner *w = remembers ? &t->winner[at] : spare, below;

	if (remembers && view->now < w->until)
		return w;
	*w = (struct gs_winner){ .until = GS_NO_LIMIT, .entry = view->ready[at] };
	for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < view->count; child++)
		meet(t->order, view, w, play(t, view, child, &below));
	return w;
}

const struct gs_entry *gs_first_of_many(const struct gs_view *view, const struct gs_order *order)
{
	struct gs_tournament *t = find(view, order);

	return t ? &play(t, view, 0, NULL)->entry : gs_first_of_few(view, order);
}
