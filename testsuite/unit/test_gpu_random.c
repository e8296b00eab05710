/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any order of events: one client on the GPU at a time, and every launch accounted for. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"

static uint64_t dice_state;

static unsigned dice(unsigned sides)
{
	dice_state = dice_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(dice_state >> 33) % sides;
}

#define PLAYERS 4
#define LAUNCHES 60
#define PLAYED_SLOTS 3
#define GAMES 50 /* of each policy */
/* One that stays for longer than twice what it takes and 20 ms is taken for one that is behind
 * another (handover.c); here it is just not played. */
#define ALONE_NS (1000 * MS)

/* One step of one slot: the driver starts it, it ends, it leaves, it is reclaimed. */
static void play_slot(struct client *c, unsigned i)
{
	struct gs_slot *s = &c->page->slot[i];
	uint32_t k = state(c, i), started = gs_page_load(s->started);

	if (k == GS_K_DONE) {
		go(c, i, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	} else if (k == GS_K_RUNNING && !started) {
		gs_page_store(s->started, 1);
	} else if (k == GS_K_TOEVICT && !started) {
		gs_page_store(s->started, 1); /* finds the limit 0 */
		evicted(c, i, gs_page_load(s->done));
	} else if (k == GS_K_RUNNING && dice(4) == 0) {
		finish(c, i);
	} else if (k == GS_K_TOEVICT) {
		uint64_t done = gs_page_load(s->done) + 1 + dice(30);

		if (done >= gs_page_load(s->nt))
			finish(c, i);
		else
			evicted(c, i, done);
	}
}

static void play(struct client *c)
{
	unsigned i = dice(PLAYED_SLOTS);

	if (dice(3) == 0)
		agent(c);
	if (state(c, i) == GS_K_PREP && c->seq < LAUNCHES && dice(3) == 0) {
		int evictable = dice(5) != 0;

		launch(c, i, 100, evictable);
		gs_page_store(c->page->slot[i].alone_ns, ALONE_NS);
		/* Still in its stream.  One that cannot leave would then not be
		 * waited for, and start beside the next client's. */
		if (state(c, i) == GS_K_RUNNING && evictable && dice(2))
			gs_page_store(c->page->slot[i].started, 0);
	} else {
		play_slot(c, i);
	}
}

static int is_through(struct client *c)
{
	for (unsigned i = 0; i < PLAYED_SLOTS; i++)
		if (state(c, i) != GS_K_PREP && state(c, i) != GS_K_DONE)
			return 0;
	return c->seq == LAUNCHES;
}

/* At most one has the time slice; none has it while another's kernel is on the GPU. */
static void assert_exclusive(struct client **c)
{
	int rounds = 0, on_gpu = 0;

	for (int p = 0; p < PLAYERS; p++) {
		int running = 0;

		for (unsigned i = 0; i < PLAYED_SLOTS; i++)
			running |= (state(c[p], i) == GS_K_RUNNING ||
				    state(c[p], i) == GS_K_TOEVICT) &&
				   gs_page_load(c[p]->page->slot[i].started);
		rounds += has_turn(c[p]) != 0;
		on_gpu += running;
		if (running && !has_turn(c[p]))
			for (int q = 0; q < PLAYERS; q++)
				assert_false(has_turn(c[q]));
	}
	assert_true(rounds <= 1);
	assert_true(on_gpu <= 1);
}

static struct client **playing;

/* The clients go on while the daemon looks: what it does is done by a look that is old. */
static uint64_t clock_of_players(void)
{
	if (dice(2))
		play(playing[dice(PLAYERS)]);
	return now;
}

enum game { PLAIN, CLOCKED };

static struct gs_gpu_options options_for(enum game kind, const char *policy)
{
	struct gs_gpu_options o = options_of(policy);

	if (kind == CLOCKED)
		o.clock = clock_of_players;
	return o;
}

static void play_games(enum game kind)
{
	const char *policy;

	for (size_t n = 0; (policy = gs_sched_policy_name(n)); n++)
		for (unsigned game = 0; game < GAMES; game++) {
			struct gs_gpu_options o = options_for(kind, policy);
			struct client *c[PLAYERS];
			uint64_t steps = 0;
			int through = 0;

			dice_state = 1000 * n + game;
			begin_with(&o);
			playing = c;
			for (int p = 0; p < PLAYERS; p++)
				c[p] = join((uint64_t)p + 1, (int32_t)dice(3));
			while (through < PLAYERS) {
				/* A game that does not end is a GPU that nobody gets. */
				assert_true(++steps < 200000);
				play(c[dice(PLAYERS)]);
				if (dice(2))
					grant((10 + dice(300)) * US);
				assert_exclusive(c);
				for (through = 0; through < PLAYERS; through++)
					if (!is_through(c[through]))
						break;
			}
			grant(20 * MS);
			for (int p = 0; p < PLAYERS; p++) {
				gs_gpu_remove(gpu, c[p]->gpu_client, now);
				c[p]->gpu_client = NULL;
				assert_int_equal(c[p]->usage.launches, LAUNCHES);
				assert_int_equal(c[p]->usage.turnaround_ns,
						 c[p]->usage.active_ns + c[p]->usage.waiting_ns);
				leave(c[p]);
			}
			gs_gpu_destroy(gpu);
		}
}

static void test_any_order_of_events(void **unused)
{
	(void)unused;
	play_games(PLAIN);
}

/* The clients go on while the daemon looks. */
static void test_events_during_a_turn(void **unused)
{
	(void)unused;
	play_games(CLOCKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order_of_events),
		cmocka_unit_test(test_events_during_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
