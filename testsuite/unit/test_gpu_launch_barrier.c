/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Less urgent clients' queues stop while a more urgent client computes, and for how long. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpushare/arbiter/launch_barrier.h"
#include "sharing_rig.h"

#define EVERY_US 100

static struct gs_gpu_options barrier_options(int one_context, uint64_t every_ns)
{
	struct gs_gpu_options o = options_of("frs");

	o.leave_most_ns = 300 * US;
	o.one_context = one_context;
	o.launch_every_ns = every_ns;
	o.sched.by_priority = 1;
	return o;
}

static void begin_barrier(int one_context, uint64_t every_ns)
{
	struct gs_gpu_options o = barrier_options(one_context, every_ns);

	begin_with(&o);
}

static uint32_t is_open(const struct client *c)
{
	return gs_page_load(c->page->priorities.launches_open);
}

static uint32_t every(const struct client *c)
{
	return gs_page_load(c->page->priorities.wait_every_us);
}

static uint32_t tells(const struct client *c)
{
	return gs_page_load(c->page->priorities.tell);
}

/* It launches a kernel that should take ns, and the arbiter looks. Returns when it looks again. */
static uint64_t begin_burst(struct client *c, uint64_t ns)
{
	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch_leaving(c, 0, AS_IS, 0, ns);
	gs_gpu_doorbell(c->gpu_client);
	return grant(US);
}

/* The same, and its end is seen. */
static void burst(struct client *c, uint64_t ns)
{
	begin_burst(c, ns);
	agent(c);
	grant(ns);
	finish(c, 0);
	grant(US);
}

/* Both have used the GPU, and the less urgent one has a kernel out. */
static void begin_two(struct client **low, struct client **high)
{
	begin_barrier(0, EVERY_US * US);
	*low = running(1, 1, AS_IS, 0);
	*high = join(2, 10);
	grant(MS);
	assert_true(is_open(*low) && is_open(*high) && !every(*low) &&
		    tells(*high) == GS_LAUNCH_TELL_NEXT);
	burst(*high, MS);
	grant(10 * MS);
	assert_true(every(*low) == EVERY_US && tells(*high) == GS_LAUNCH_TELL_NEXT);
	assert_true(every(*high) == 0 && tells(*low) == 0);
	assert_true(is_open(*low) && is_open(*high));
}

static void stops_while_the_urgent_one_computes(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(&low, &high);
	assert_true(begin_burst(high, MS) <= now + 50 * US);
	assert_int_equal(is_open(low), 0);
	assert_int_equal(is_open(high), 1);
	agent(high);
	grant(MS);
	assert_int_equal(is_open(low), 0);
	finish(high, 0);
	grant(US);
	grant(GS_LAUNCHES_PAUSE_NS); /* it may launch again at once */
	assert_int_equal(is_open(low), 0);
	grant(60 * US);
	assert_int_equal(is_open(low), 1);
	all_leave(low, high);
}

/* What an urgent client has queued goes on for long: then the others' queues do, too, until it has
 * paused. */
static void stops_for_so_long(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(&low, &high);
	begin_burst(high, 1000 * MS);
	agent(high);
	grant(GS_LAUNCHES_CLOSED_MOST_NS - 10 * US);
	assert_int_equal(is_open(low), 0);
	grant(20 * US);
	assert_int_equal(is_open(low), 1);
	for (int i = 0; i < 100; i++) {
		uint64_t due = grant(MS);

		assert_int_equal(is_open(low), 1);
		assert_true(due <= now + 2 * MS); /* it sees the end of the burst */
	}
	finish(high, 0);
	grant(MS);
	assert_int_equal(tells(high), GS_LAUNCH_TELL_NEXT);
	burst(high, MS);
	assert_int_equal(is_open(low), 0);
	all_leave(low, high);
}

/* Launches without a slot: the client says until when they should take. */
static void stops_for_launches_without_a_slot(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(&low, &high);
	gs_page_store(high->page->priorities.until_ns, now + 500 * US);
	gs_gpu_doorbell(high->gpu_client);
	grant(US);
	assert_int_equal(is_open(low), 0);
	grant(490 * US);
	assert_int_equal(is_open(low), 0);
	grant(GS_LAUNCHES_PAUSE_NS + 80 * US);
	assert_int_equal(is_open(low), 1);
	/* No client has so much of them out. */
	gs_page_store(high->page->priorities.until_ns, UINT64_MAX);
	gs_gpu_doorbell(high->gpu_client);
	grant(US);
	assert_int_equal(is_open(low), 1);
	all_leave(low, high);
}

struct pace {
	unsigned kernel_us, every_us, poll_us;
	unsigned beside_us; /* of a kernel while `low` computes, too; 0: kernel_us */
};

/* So many kernels without a slot at that pace; the arbiter polls so often. Returns how many of its
 * polls found the barrier of `low` closed. */
static unsigned slow_launches(const struct client *low, struct client *high, unsigned n,
			      const struct pace *pace)
{
	unsigned closed = 0, looked = 0, poll_us = pace->poll_us;

	for (unsigned us = 0; us < n * pace->every_us; us++, now += US) {
		if (us % pace->every_us == 0) {
			unsigned us_each =
				is_open(low) && pace->beside_us ? pace->beside_us : pace->kernel_us;

			gs_page_store(high->page->priorities.until_ns, now + us_each * US);
			if (gs_page_load(high->page->priorities.tell) == GS_LAUNCH_TELL_NEXT) {
				gs_page_store(high->page->priorities.tell, GS_LAUNCH_TELL_SEEN);
				gs_gpu_doorbell(high->gpu_client);
				looked = poll_us;
			}
		}
		if (looked++ < poll_us)
			continue;
		grant(0);
		closed += !is_open(low);
		looked = 0;
	}
	grant(10 * MS);
	grant(MS);
	return closed;
}

/* A program that launches kernel by kernel leaves the GPU idle in between, although its kernels
 * seem to follow each other closely where others slow them down: nobody stops for it but in one of
 * sixteen bursts, until it has come to launch more at a time. */
static void nobody_stops_for_slow_launches(void **unused)
{
	static const struct pace pace[] = { { 20, 45, 20, 0 },  { 20, 45, 100, 0 },
					    { 30, 45, 20, 0 },  { 30, 45, 100, 0 },
					    { 20, 400, 20, 0 }, { 100, 500, 100, 0 },
					    { 20, 45, 20, 44 }, { 20, 45, 100, 44 } };
	struct client *low, *high;
	unsigned closed;

	(void)unused;
	for (size_t p = 0; p < sizeof(pace) / sizeof(*pace); p++) {
		begin_two(&low, &high);
		gs_gpu_poll_every(gpu, pace[p].poll_us * US);
		for (int i = 0; i < 30; i++)
			slow_launches(low, high, 60, &pace[p]);
		closed = 0;
		for (int i = 0; i < 32; i++)
			closed += slow_launches(low, high, 60, &pace[p]);
		assert_in_range(closed, 1, 32 * 60 * pace[p].every_us / pace[p].poll_us / 12);
		for (int i = 0; i < 200; i++) {
			burst(high, MS);
			if (i > 190)
				assert_int_equal(is_open(low), 0);
			grant(10 * MS);
			grant(MS);
		}
		all_leave(low, high);
	}
}

/* One kernel in a burst: the others are stopped until it is clear that no other one follows, so it
 * must be longer than that is worth. */
static void nobody_stops_for_a_brief_burst(void **unused)
{
	static const struct {
		unsigned kernel_us, poll_us;
		int is_open;
	} burst_of[] = { { 100, 20, 1 }, { 150, 20, 1 },  { 250, 20, 0 },
			 { 400, 20, 0 }, { 400, 100, 1 }, { 700, 100, 0 } };
	struct client *low, *high;

	(void)unused;
	for (size_t i = 0; i < sizeof(burst_of) / sizeof(*burst_of); i++) {
		unsigned stopped = 0;

		begin_two(&low, &high);
		gs_gpu_poll_every(gpu, burst_of[i].poll_us * US);
		for (int n = 0; n < 40; n++) {
			struct pace once = { burst_of[i].kernel_us, 1000, burst_of[i].poll_us, 0 };
			unsigned closed = slow_launches(low, high, 1, &once);

			if (n > 30) /* there is a trial in between */
				stopped += closed > 0;
		}
		assert_int_equal(stopped < 2, burst_of[i].is_open);
		assert_true(stopped < 2 || stopped == 9);
		all_leave(low, high);
	}
}

static void equals_do_not_stop(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_barrier(0, EVERY_US * US);
	a = running(1, 1, AS_IS, 0);
	b = join(2, 1);
	grant(MS);
	for (int i = 0; i < 3; i++) {
		burst(b, MS);
		assert_true(is_open(a) && is_open(b) && !every(a) && !every(b) && !tells(a));
	}
	all_leave(a, b);
}

/* The one in between stops for the one and is waited for by the other. */
static void three_priorities(void **unused)
{
	struct client *low, *high, *middle;

	(void)unused;
	begin_two(&low, &high);
	middle = join(3, 5);
	grant(MS);
	burst(middle, MS);
	assert_int_equal(is_open(low), 0);
	assert_int_equal(is_open(high), 1);
	grant(10 * MS);
	assert_true(every(middle) == EVERY_US && tells(middle) == GS_LAUNCH_TELL_NEXT &&
		    every(low) == EVERY_US);
	assert_true(is_open(low) && is_open(middle) && is_open(high));
	burst(high, MS);
	assert_true(!is_open(low) && !is_open(middle) && is_open(high));
	all_leave(low, high, middle);
}

static void never_under_mps_nor_where_it_is_off(void **unused)
{
	struct client *low, *high;

	(void)unused;
	for (int mps = 0; mps < 2; mps++) {
		begin_barrier(mps, mps ? EVERY_US * US : 0);
		low = running(1, 1, AS_IS, 0);
		high = join(2, 10);
		grant(MS);
		burst(high, MS);
		burst(high, MS);
		assert_true(is_open(low) && !every(low) && !tells(high));
		all_leave(low, high);
	}
}

/* A page may come from a daemon that has ended while it was closed. */
static void is_open_for_who_comes_and_goes(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(&low, &high);
	burst(high, MS);
	assert_int_equal(is_open(low), 0);
	gs_gpu_remove(gpu, low->gpu_client, now);
	assert_true(is_open(low) && !every(low));
	gs_page_store(low->page->priorities.launches_open, 0);
	gs_page_store(low->page->priorities.wait_every_us, 100);
	join_as(low, 1, 1, 1);
	assert_true(is_open(low) && !every(low));
	all_leave(low, high);
}

/* Switched off while it is closed. */
static void is_open_when_it_is_off(void **unused)
{
	struct gs_gpu_options o = barrier_options(0, 0);
	struct client *low, *high;
	struct gs_error err;

	(void)unused;
	begin_two(&low, &high);
	burst(high, MS);
	assert_int_equal(is_open(low), 0);
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	assert_true(is_open(low) && !every(low));
	burst(high, MS);
	assert_true(is_open(low) && !every(low) && !tells(high));
	/* On again: it stops for the first burst, too. */
	o = barrier_options(0, EVERY_US * US);
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	grant(MS);
	burst(high, MS);
	assert_int_equal(is_open(low), 0);
	all_leave(low, high);
}

/* Who waits for the time slice does not compute. Here a third client keeps it, as it is pinned. */
static void nobody_stops_for_who_waits(void **unused)
{
	struct client *low, *high, *pinned;

	(void)unused;
	begin_two(&low, &high);
	pinned = join(3, 1);
	launch_leaving(pinned, 0, AS_IS, 0, MS);
	assert_int_equal(gs_gpu_pin(pinned->gpu_client), 0);
	for (int i = 0; i < 5; i++) {
		grant(MS);
		agent(pinned);
	}
	assert_true(has_turn(pinned) && !has_turn(high));
	begin_burst(high, MS);
	assert_int_equal(state(high, 0), GS_K_READY);
	assert_int_equal(every(low), EVERY_US);
	assert_int_equal(is_open(low), 1);
	gs_gpu_unpin(gpu);
	all_leave(low, high, pinned);
}

/* Whoever is gone stops nobody. */
static void opens_when_the_urgent_one_goes(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(&low, &high);
	begin_burst(high, MS);
	assert_int_equal(is_open(low), 0);
	leave(high);
	grant(US);
	assert_int_equal(is_open(low), 1);
	all_leave(low);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_while_the_urgent_one_computes),
		cmocka_unit_test(stops_for_so_long),
		cmocka_unit_test(stops_for_launches_without_a_slot),
		cmocka_unit_test(nobody_stops_for_slow_launches),
		cmocka_unit_test(nobody_stops_for_a_brief_burst),
		cmocka_unit_test(equals_do_not_stop),
		cmocka_unit_test(three_priorities),
		cmocka_unit_test(never_under_mps_nor_where_it_is_off),
		cmocka_unit_test(is_open_for_who_comes_and_goes),
		cmocka_unit_test(is_open_when_it_is_off),
		cmocka_unit_test(nobody_stops_for_who_waits),
		cmocka_unit_test(opens_when_the_urgent_one_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
