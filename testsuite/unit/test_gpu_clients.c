/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that come with kernels under way, die, or write nonsense. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "common/clock.h"

#include "gpu_rig.h"

static void test_unstarted_needs_the_doorbell(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	gs_page_store(low->page->slot[0].started, 0); /* still in its stream */
	grant(1 * MS);
	launch(high, 0, 1, 1);
	grant(0);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	grant(1 * MS);
	assert_false(has_turn(high));
	gs_page_store(low->page->heard, gs_page_load(low->page->doorbell));
	grant(50 * US);
	assert_true(has_turn(high));
	/* It starts, finds the limit 0 and leaves without having done a thing. */
	gs_page_store(low->page->slot[0].started, 1);
	evicted(low, 0, 0);
	grant(1 * MS);
	assert_int_equal(low->usage.preemptions, 0);
	assert_int_equal(state(low, 0), GS_K_READY);
	all_leave(low, high);
}

static void test_launch_past_the_check_is_caught(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	grant(1 * MS);
	launch(high, 0, 1, 1);
	grant(0); /* low has lost the time slice */
	prepare(low, 1, 100, 1);
	go(low, 1, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT); /* it had read turn == 1 before */
	gs_page_store(low->page->slot[1].started, 1);
	evicted(low, 0, 10);
	grant(50 * US);
	assert_int_equal(state(low, 1), GS_K_TOEVICT);
	assert_false(has_turn(high));
	evicted(low, 1, 10);
	grant(50 * US);
	assert_true(has_turn(high));
	assert_int_equal(low->usage.preemptions, 2);
	all_leave(low, high);
}

/* The page says how far its slots were ever used; it is believed, and no further. */
static void test_slots_that_were_used(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	gs_page_store(low->page->used, 1);
	grant(1 * MS);
	gs_page_store(high->page->used, 3);
	launch(high, 3, 1, 1); /* it lies */
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	gs_page_store(high->page->used, 4);
	gs_gpu_doorbell(high->gpu_client);
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	evicted(low, 0, 10);
	grant(50 * US);
	assert_int_equal(state(high, 3), GS_K_TORUN);
	all_leave(low, high);
}

static void *sleep_on_doorbell(void *page)
{
	struct gs_page *p = page;
	uint32_t doorbell = gs_page_load(p->doorbell);
	uint64_t began = gs_clock_ns();

	gs_page_store(p->calls.reserved[0], 1);
	gs_page_wait(p, doorbell, 20 * GS_NS_PER_S);
	return gs_clock_ns() - began < 10 * GS_NS_PER_S ? page : NULL;
}

/* It sleeps, whoever of its program looks for a turn of its own. */
static void test_an_agent_is_woken_to_relaunch(void **unused)
{
	struct client *low, *high;
	pthread_t agent;
	void *woken;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	grant(1 * MS);
	launch(high, 0, 1, 1);
	grant(0);
	evicted(low, 0, 10);
	grant(50 * US);
	assert_int_equal(state(high, 0), GS_K_TORUN);
	go(high, 0, GS_K_TORUN, GS_K_RUNNING, GS_BY_CLIENT);
	gs_page_store(high->page->slot[0].started, 1);
	grant(1 * MS);
	go(high, 0, GS_K_RUNNING, GS_K_DONE, GS_BY_GPU);
	gs_page_store(low->page->awake, 1); /* its launch has gone already, say */
	assert_int_equal(pthread_create(&agent, NULL, sleep_on_doorbell, low->page), 0);
	while (!gs_page_load(low->page->calls.reserved[0]))
		usleep(1000);
	usleep(20000); /* it sleeps by now; if not, it finds the doorbell changed */
	for (int i = 0; i < 100 && state(low, 0) != GS_K_TORUN; i++)
		grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TORUN);
	assert_int_equal(pthread_join(agent, &woken), 0);
	assert_non_null(woken);
	all_leave(low, high);
}

static void test_death_frees_the_gpu(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 10);
	b = join(2, 1);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	grant(1 * MS);
	assert_int_equal(state(b, 0), GS_K_READY);
	gs_gpu_remove(gpu, a->gpu_client, now);
	a->gpu_client = NULL;
	grant(0);
	assert_int_equal(state(b, 0), GS_K_TORUN);
	all_leave(a, b);
}

static void test_death_while_draining(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	b = join(2, 10);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	grant(1 * MS);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	gs_gpu_remove(gpu, a->gpu_client, now);
	a->gpu_client = NULL;
	grant(0);
	assert_int_equal(state(b, 0), GS_K_TORUN);
	all_leave(a, b);
}

static void test_adoption(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	/* Two clients that ran without a daemon: both think that they may. */
	a = join(1, 1);
	b = join(2, 10);
	gs_gpu_remove(gpu, a->gpu_client, now);
	gs_gpu_remove(gpu, b->gpu_client, now);
	gs_page_store(a->page->grant, 1);
	gs_page_store(b->page->grant, 1);
	a->seq = 7;
	launch(a, 0, 100, 1);
	launch(b, 0, 100, 1);
	join_as(a, 11, 1, 1);
	join_as(b, 12, 10, 1);
	assert_true(has_turn(a));
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	assert_false(has_turn(b));
	assert_int_equal(state(b, 0), GS_K_TOEVICT);
	evicted(b, 0, 10);
	grant(1 * MS); /* b is runnable and more urgent */
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 20);
	grant(50 * US);
	assert_int_equal(state(b, 0), GS_K_TORUN);
	assert_int_equal(a->usage.launches, 8); /* the earlier daemon's as well */
	assert_int_equal(a->usage.preemptions, 1);
	all_leave(a, b);
}

/* Away and back under one daemon, as its memory was on the host: its launches count once. */
static void test_back_again(void **unused)
{
	struct client *a;

	(void)unused;
	begin("fifo");
	a = join(1, 1);
	occupy(a, 100);
	finish(a, 0);
	grant(1 * MS);
	assert_true(has_turn(a));
	launch(a, 1, 100, 1);
	finish(a, 1);
	assert_int_equal(a->usage.launches, 1); /* the second has not been looked at */
	a->counted = gs_gpu_remove(gpu, a->gpu_client, now);
	assert_int_equal(a->usage.launches, 2);
	assert_int_equal(a->counted.launches, 2);
	join_as(a, 1, 1, 1);
	grant(1 * MS);
	assert_int_equal(a->usage.launches, 2);
	launch(a, 2, 100, 1);
	grant(1 * MS);
	assert_int_equal(a->usage.launches, 3);
	assert_int_equal(gs_gpu_client_counted(a->gpu_client).launches, 3);
	all_leave(a);
}

/* Copies are read from the page when somebody asks and when the client ends, those of an earlier
 * daemon once, and what cannot be is not believed. */
static void test_copies(void **unused)
{
	struct gs_copies_made *made;
	const struct gs_copied *all;
	struct client *a;

	(void)unused;
	begin("fifo");
	a = join(1, 1);
	made = &a->page->copies.made[GS_COPY_TO_DEVICE];
	all = &a->usage.copied[GS_COPY_TO_DEVICE];
	made->copies = 2;
	made->bytes = 300;
	made->host_ns = 40;
	grant(1 * MS);
	assert_int_equal(all->copies, 0);
	gs_gpu_settle(gpu, now);
	gs_gpu_settle(gpu, now);
	assert_true(all->copies == 2 && all->bytes == 300 && all->host_ns == 40);
	made->copies = 3;
	made->bytes = 1300;
	a->counted = gs_gpu_remove(gpu, a->gpu_client, now);
	assert_true(all->copies == 3 && all->bytes == 1300);
	join_as(a, 1, 1, 1);
	made->copies = 4;
	gs_gpu_settle(gpu, now);
	assert_true(all->copies == 4 && all->bytes == 1300);
	made->bytes = 5; /* fewer than before */
	gs_gpu_settle(gpu, now);
	assert_int_equal(all->bytes, 1300);
	made->bytes = 7;
	gs_gpu_settle(gpu, now);
	assert_int_equal(all->bytes, 1302);
	assert_int_equal(a->usage.copied[GS_COPY_TO_HOST].bytes, 0);
	/* However often it says that it has made very many, the sum does not begin at 0 again. */
	for (int i = 0; i < 1000; i++) {
		made->copies += UINT64_C(1) << 55;
		gs_gpu_settle(gpu, now);
	}
	assert_true(all->copies == UINT64_MAX);
	all_leave(a);
}

static void test_hostile_page(void **unused)
{
	struct client *a, *b;
	uint32_t bad;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	b = join(2, 1);
	memset(a->page, 0xff, sizeof(*a->page));
	gs_gpu_doorbell(a->gpu_client);
	grant(0);
	assert_true(gs_gpu_client_bad(a->gpu_client, &bad));
	assert_int_equal(bad, UINT32_MAX);
	assert_false(gs_gpu_client_bad(b->gpu_client, &bad));
	/* Absurd figures in a legal state harm nobody. */
	memset(a->page, 0, sizeof(*a->page));
	gs_page_store(b->page->slot[3].nt, UINT64_MAX);
	gs_page_store(b->page->slot[3].done, UINT64_MAX);
	gs_page_store(b->page->slot[3].alone_ns, UINT64_MAX);
	gs_page_store(b->page->slot[3].kernel, UINT32_MAX);
	gs_page_store(b->page->slot[3].seq, UINT64_MAX);
	gs_page_store(b->page->slot[3].state, GS_K_READY);
	gs_page_store(b->page->doorbell, UINT32_MAX);
	gs_gpu_doorbell(b->gpu_client);
	grant(1 * MS);
	assert_int_equal(state(b, 3), GS_K_TORUN);
	assert_false(gs_gpu_client_bad(b->gpu_client, &bad));
	all_leave(a, b);
}

/* Pinned, a client finishes what it had begun, evicted or not, whoever else wants the GPU. */
static void test_pinned(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 1000);
	grant(5 * MS);
	launch(high, 0, 1000, 1);
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	evicted(low, 0, 400);
	agent(low);
	grant(1 * MS);
	agent(high);
	assert_true(has_turn(high));
	assert_int_equal(gs_gpu_pin(low->gpu_client), 0);
	assert_int_equal(gs_gpu_pin(high->gpu_client), -1);
	grant(1 * MS);
	assert_false(gs_gpu_settled(gpu)); /* the other one is to leave first */
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	evicted(high, 0, 10);
	agent(high);
	grant(1 * MS);
	assert_true(has_turn(low));
	grant(1 * MS);
	agent(low);
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	for (int i = 0; i < 20; i++) { /* the other one waits, with a higher priority */
		grant(1 * MS);
		assert_true(has_turn(low));
		assert_int_equal(state(low, 0), GS_K_RUNNING);
		assert_false(gs_gpu_settled(gpu));
	}
	finish(low, 0);
	launch(low, 1, 1000, 1); /* what it begins now ends by itself */
	assert_true(gs_gpu_settled(gpu));
	gs_gpu_remove(gpu, low->gpu_client, now);
	low->gpu_client = NULL;
	grant(1 * MS);
	assert_true(has_turn(high));
	assert_false(gs_gpu_settled(gpu));
	agent(high);
	finish(high, 0);
	grant(1 * MS);
	/* It comes back with its page. */
	join_as(low, 3, 1, 1);
	finish(low, 1);
	grant(1 * MS);
	all_leave(low, high);
}

#define MANY 1000

/* This process's time on a processor for a step, the best of some. */
static uint64_t step_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t since = gs_thread_clock_ns(), took;

		grant(5 * US);
		took = gs_thread_clock_ns() - since;
		least = took < least ? took : least;
	}
	return least;
}

/* However many clients a user has, idle or not, the arbiter must come back to the others soon. A
 * step that looks at all clients for each of them takes 70 ms. */
static void test_many_clients_cost_little(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *many[MANY], *low, *high;

	(void)unused;
	o.leave_most_ns = 1 * MS;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	for (uint64_t i = 0; i < MANY; i++)
		many[i] = join(3 + i, 1);
	launch(low, 0, 1000, 1);
	launch(high, 0, 1000, 1);
	assert_in_range(step_cost(), 0, 10 * MS);
	for (int i = 0; i < MANY; i++)
		launch(many[i], 0, 1000, 1);
	assert_in_range(step_cost(), 0, 15 * MS);
	for (int i = 0; i < MANY; i++)
		leave(many[i]);
	all_leave(low, high);
}

/* A user may stop programs without end. */
static void test_a_client_that_is_stopped_again_and_again_is_said_so_often(void **unused)
{
	char path[] = "/tmp/gpushare-test-XXXXXX";
	struct client *c;

	(void)unused;
	log_to(path);
	begin("piv");
	c = join(1, 1);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(gs_gpu_client_stopped(c->gpu_client, 1, now), 1);
		assert_int_equal(gs_gpu_client_stopped(c->gpu_client, 0, now), 1);
	}
	assert_int_equal(logged(path, "stopped; other clients do not wait"), 10);
	assert_int_equal(logged(path, "goes on"), 10);
	assert_int_equal(logged(path, "goes on; this is said no more"), 1);
	all_leave(c);
	log_back(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_unstarted_needs_the_doorbell),
		cmocka_unit_test(test_launch_past_the_check_is_caught),
		cmocka_unit_test(test_slots_that_were_used),
		cmocka_unit_test(test_an_agent_is_woken_to_relaunch),
		cmocka_unit_test(test_death_frees_the_gpu),
		cmocka_unit_test(test_death_while_draining),
		cmocka_unit_test(test_adoption),
		cmocka_unit_test(test_back_again),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_hostile_page),
		cmocka_unit_test(test_a_client_that_is_stopped_again_and_again_is_said_so_often),
		cmocka_unit_test(test_many_clients_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
