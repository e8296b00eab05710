/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tournaments name whom a look at all entries names, at any time, whatever comes, moves and goes. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/sched/tasks.h"

#define TASKS 600
#define TURNS 30000

struct world {
	struct gs_ready ready;
	struct gs_view view;
	struct gs_task task[TASKS];
	uint64_t seed, seq;
	uint64_t steepest; /* slopes are whole numbers below this: the fewer, the more ties */
};

static uint64_t draw(struct world *w, uint64_t below)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed % below;
}

/* ---- An order whose lines all pass through whole numbers: exact, with many ties ---- */

static size_t asked;

static double height(const struct gs_view *view, const struct gs_entry *entry)
{
	asked++;
	return entry->a + entry->b * (double)view->now + (double)view->state[0] * entry->task->priority;
}

static uint64_t stays_higher(const struct gs_view *view, const struct gs_entry *first,
			     const struct gs_entry *second, double lead)
{
	if (second->b <= first->b)
		return GS_NO_LIMIT;
	return view->now + (uint64_t)(lead / (second->b - first->b));
}

static double depth(const struct gs_view *view, const struct gs_entry *entry)
{
	return -height(view, entry);
}

static uint64_t stays_lower(const struct gs_view *view, const struct gs_entry *first,
			    const struct gs_entry *second, double lead)
{
	return first->b <= second->b ? GS_NO_LIMIT
				     : view->now + (uint64_t)(lead / (first->b - second->b));
}

static const struct gs_order highest = { .value = height, .until = stays_higher, .of_state = 1 };
static const struct gs_order lowest = { .value = depth, .until = stays_lower, .by_place = 1, .of_state = 1 };

/* ---- The world ------------------------------------------------------------------ */

static struct gs_view *view_of(struct world *w)
{
	w->view.ready = w->ready.entry;
	w->view.count = w->ready.count;
	return &w->view;
}

static void place(struct world *w, struct gs_task *task, struct gs_entry *entry)
{
	double slope = (double)draw(w, w->steepest);

	/* As high as any other, whenever it comes: those that rise fastest have to overtake it. */
	*entry = (struct gs_entry){
		.key.rank = (double)draw(w, 50), .task = task,
		.a = (double)draw(w, 1000) - slope * (double)w->view.now, .b = slope,
	};
}

static void start(struct world *w, uint64_t steepest)
{
	*w = (struct world){ .seed = 88172645463325252u, .steepest = steepest };
	w->view.tournaments = &w->ready.tournaments;
	w->ready.tournaments.view = &w->view;
	for (size_t i = 0; i < TASKS; i++)
		w->task[i].heap_at = GS_NOT_READY;
}

static void come(struct world *w, struct gs_task *task)
{
	struct gs_entry entry;

	task->seq = ++w->seq;
	task->priority = (int32_t)draw(w, 3);
	place(w, task, &entry);
	assert_int_equal(gs_ready_reserve(&w->ready, w->ready.count + 1), 0);
	gs_ready_add(&w->ready, &entry);
}

static void change(struct world *w)
{
	struct gs_task *task = &w->task[draw(w, TASKS)];
	struct gs_entry entry;

	if (task->heap_at == GS_NOT_READY) {
		come(w, task);
	} else if (draw(w, 3) == 0) {
		place(w, task, &entry);
		gs_ready_move(&w->ready, &entry);
	} else {
		gs_ready_remove(&w->ready, task);
	}
}

static void check(struct world *w, const struct gs_order *order)
{
	const struct gs_view *view = view_of(w);
	const struct gs_entry *few = gs_first_of_few(view, order), *many;

	if (!few)
		return;
	many = gs_first_of_many(view, order);
	if (many->task != few->task)
		fail_msg("at %d of %d: task %d of value %f, not %d of %f", (int)view->now,
			 (int)view->count, (int)many->task->seq, order->value(view, many),
			 (int)few->task->seq, order->value(view, few));
}

/* Each of the looks elsewhere begins everything anew; without them what was certain has to end by itself. */
static void play(struct world *w, int elsewhere)
{
	for (int i = 0; i < TURNS; i++) {
		for (uint64_t n = draw(w, 4); n > 0; n--)
			change(w);
		if (draw(w, 3) == 0)
			w->view.now += draw(w, 3);
		/* A look into the future or at what would be, as gs_sched_peek() has it. */
		if (elsewhere && draw(w, 50) == 0) {
			struct gs_view now = w->view;

			w->view.now += draw(w, 50);
			w->view.state[0] += draw(w, 2);
			check(w, &highest);
			w->view = now;
		}
		if (elsewhere && draw(w, 200) == 0)
			w->view.state[0]++;
		if (draw(w, 2000) == 0)
			gs_ready_restore(&w->ready);
		check(w, &highest);
		if (draw(w, 4) == 0)
			check(w, &lowest);
		if (i % 5000 == 0)
			while (w->ready.count > draw(w, 5))
				gs_ready_remove(&w->ready, w->ready.oldest);
	}
	gs_ready_fini(&w->ready);
}

static void the_same_as_a_look_at_all(void **state)
{
	static const uint64_t steepest[] = { 1, 2, 5, 100, 1u << 20 };
	static struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(steepest) / sizeof(steepest[0]); i++)
		for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
			start(&w, steepest[i]);
			play(&w, elsewhere);
		}
}

/* What comes and goes one at a time costs a few games of the tens of thousands that are there. */
static void few_games_are_played(void **state)
{
	enum { MANY = 40000, ROUNDS = 20000 };
	struct gs_task *task = calloc(MANY, sizeof(*task));
	static struct world w;
	struct gs_entry entry;

	(void)state;
	assert_non_null(task);
	start(&w, 1u << 20);
	assert_int_equal(gs_ready_reserve(&w.ready, MANY), 0);
	for (size_t i = 0; i < MANY; i++) {
		task[i].seq = i;
		place(&w, &task[i], &entry);
		gs_ready_add(&w.ready, &entry);
	}
	gs_first_of_many(view_of(&w), &highest);
	asked = 0;
	for (int i = 0; i < ROUNDS; i++) {
		const struct gs_entry *first = gs_first_of_many(view_of(&w), &highest);
		struct gs_task *gone = first->task;

		gs_ready_remove(&w.ready, gone);
		place(&w, gone, &entry);
		gs_ready_add(&w.ready, &entry);
		w.view.now++;
	}
	print_message("%zu values a round\n", asked / ROUNDS);
	assert_in_range(asked / ROUNDS, 1, 1000);
	gs_ready_fini(&w.ready);
	free(task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_as_a_look_at_all),
		cmocka_unit_test(few_games_are_played),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
