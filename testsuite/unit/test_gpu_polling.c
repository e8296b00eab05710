/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long an idle GPU is kept, when its pages are polled, and what clients are told. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "sharing_rig.h"
#include "gpushare/arbiter/gpu_core.h"
#include "gpushare/arbiter/polling.h"

/* ---- a client's pauses ------------------------------------------------- */

static void pause_for(struct gs_gpu_client *t, uint64_t *at, uint64_t gap)
{
	gs_polling_idle(t, *at);
	gs_polling_busy(t, *at += gap);
	*at += MS;
}

static void test_grace_follows_the_pauses(void **unused)
{
	struct gs_gpu g = { .o = { .idle_grace_ns = 200 * US } };
	struct gs_gpu_client t = { .gpu = &g };
	uint64_t at = T0;

	(void)unused;
	assert_int_equal(gs_polling_grace(&t), 25 * US); /* nobody knows */
	pause_for(&t, &at, 40 * US);
	assert_int_equal(gs_polling_grace(&t), 80 * US);
	pause_for(&t, &at, 180 * US);
	assert_int_equal(gs_polling_grace(&t), 80 * US); /* the shorter of two */
	pause_for(&t, &at, 180 * US);
	assert_int_equal(gs_polling_grace(&t), 200 * US);
	/* One long pause does not end a chain; two do, and two short ones begin one. */
	pause_for(&t, &at, 4 * MS);
	assert_int_equal(gs_polling_grace(&t), 200 * US);
	pause_for(&t, &at, 4 * MS);
	assert_int_equal(gs_polling_grace(&t), 0);
	pause_for(&t, &at, 10 * US);
	assert_int_equal(gs_polling_grace(&t), 35 * US);
	g.o.idle_grace_ns = 0;
	assert_int_equal(gs_polling_grace(&t), 0);
}

/* A kernel of 1 ms every 5 ms beside a long one: its end gives the GPU back in the same turn. */
static void test_periodic_client_keeps_nothing(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 1000);
	for (unsigned i = 0; i < 6; i++) {
		grant(4 * MS);
		launch(high, 0, 10, 1);
		grant(0);
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		evicted(low, 0, 100 * (i + 1));
		grant(20 * US);
		assert_int_equal(state(high, 0), GS_K_TORUN);
		agent(high);
		grant(1 * MS);
		finish(high, 0);
		grant(0);
		if (i < 2) /* its pauses are not known yet */
			grant(200 * US);
		assert_false(has_turn(high));
		assert_true(has_turn(low));
		assert_int_equal(state(low, 0), GS_K_TORUN);
		go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		agent(low);
	}
	all_leave(low, high);
}

/* A chain of kernels with short pauses keeps the GPU, and loses it soon after its last one. */
static void test_chain_keeps_the_gpu(void **unused)
{
	struct client *chain, *other;

	(void)unused;
	begin("piv");
	chain = join(1, 5);
	other = join(2, 5);
	occupy(chain, 10);
	launch(other, 0, 10, 1);
	grant(0);
	for (unsigned i = 0; i < 5; i++) {
		grant(1 * MS);
		finish(chain, 0);
		grant(0);
		go(chain, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		grant(20 * US);
		assert_true(has_turn(chain));
		launch(chain, 0, 10, 1);
		assert_int_equal(state(chain, 0), GS_K_RUNNING);
		grant(0);
	}
	finish(chain, 0);
	gs_gpu_poll_every(gpu, 1 * MS);
	assert_int_equal(grant(0) - now, 50 * US); /* 20 us, half of that, and 20 more */
	grant(50 * US);
	assert_true(has_turn(other));
	all_leave(chain, other);
}

/* ---- polling --------------------------------------------------------------- */

/* While somebody waits the pages are polled, and no deadline is slept through; alone there is
 * nothing to see. */
static void test_polls_while_somebody_waits(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct client *a, *b;

	(void)unused;
	o.sched.rr_quantum_ns = 2 * MS;
	o.sched.handover_ns = 0;
	begin_with(&o);
	a = join(1, 1);
	b = join(2, 1);
	occupy(a, 100);
	assert_int_equal(grant(1 * MS) - now, 20 * MS);
	launch(b, 0, 100, 1);
	assert_int_equal(grant(10 * US) - now, 5 * US);
	/* An arbiter that sleeps polls less often, and is there when the quantum ends. */
	gs_gpu_poll_every(gpu, 100 * US);
	assert_int_equal(grant(10 * US) - now, 300 * US);
	assert_int_equal(grant(gpu->deadline - now - 20 * US) - now, 20 * US);
	assert_true(has_turn(a));
	assert_int_equal(grant(21 * US) - now, 100 * US);
	assert_false(has_turn(a));
	gs_gpu_poll_every(gpu, 0);
	assert_int_equal(grant(0) - now, 1 * US);
	evicted(a, 0, 10);
	grant(5 * US);
	assert_true(has_turn(b));
	all_leave(a, b);
}

/* Its quantum begins when its kernel is there, so that is looked for. */
static void test_the_beginning_of_a_quantum_is_seen(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct client *a, *b;

	(void)unused;
	o.sched.rr_quantum_ns = 2 * MS;
	o.sched.quantum_handovers = 0;
	o.sched.handover_ns = 200 * US;
	begin_with(&o);
	a = join(1, 1);
	b = join(2, 1);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	grant(1 * MS);
	grant(2 * MS);
	evicted(a, 0, 10);
	assert_int_equal(grant(5 * US) - now, 1 * US);
	assert_true(has_turn(b));
	agent(b);
	grant(7 * US);
	assert_int_equal(gpu->deadline - now, 2 * MS);
	all_leave(a, b);
}

/* A client on its way out is polled closely, and seldom once it is hardly about to leave. */
static void test_polls_a_client_on_its_way_out(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;

	(void)unused;
	o.overlap_ns = 8 * US;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 1000, 1);
	gs_page_store(low->page->slot[0].leave_ns, 17 * US);
	grant(0);
	agent(low);
	launch(high, 0, 10, 1);
	assert_int_equal(grant(1 * MS) - now, 1 * US);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_false(has_turn(high));
	/* Whoever polls seldom is there when the next one may have the GPU. */
	gs_gpu_poll_every(gpu, 100 * US);
	assert_int_equal(gs_polling_next(gpu, now) - now, 9 * US);
	gs_gpu_poll_every(gpu, 0);
	grant(9 * US);
	assert_true(has_turn(high));
	/* It takes longer than it said. */
	assert_int_equal(grant(50 * US) - now, 1 * US);
	assert_int_equal(grant(30 * MS) - now, 500 * US);
	evicted(low, 0, 10);
	grant(0);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* ---- what the clients are told -------------------------------------------- */

static void test_who_shares_the_gpu(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	grant(0);
	assert_int_equal(gs_page_load(a->page->only), 1);
	b = join(2, 1);
	assert_int_equal(gs_page_load(a->page->only), 0); /* at once */
	occupy(a, 100);
	grant(1 * MS);
	assert_int_equal(gs_page_load(a->page->only) + gs_page_load(b->page->only), 0);
	/* The other is there and has done nothing. */
	assert_int_equal(gs_page_load(a->page->shared), 0);
	assert_int_equal(gs_page_load(b->page->shared), 1);
	launch(b, 0, 100, 1);
	grant(0);
	assert_int_equal(gs_page_load(a->page->shared), 1);
	assert_int_equal(gs_page_load(a->page->contended), 1);
	finish(a, 0);
	grant(0);
	grant(200 * US);
	assert_true(has_turn(b));
	agent(b);
	finish(b, 0);
	grant(1 * MS);
	assert_int_equal(gs_page_load(b->page->contended), 0);
	assert_int_equal(gs_page_load(b->page->shared), 1);
	grant(9999 * MS);
	assert_int_equal(gs_page_load(b->page->shared), 0);
	grant(2 * MS);
	assert_int_equal(gs_page_load(a->page->shared), 0);
	leave(b);
	grant(0);
	assert_int_equal(gs_page_load(a->page->only), 1);
	all_leave(a);
}

static uint64_t later(void)
{
	return now + 7 * US;
}

/* The order is written before all else, and the trace says until when. */
static void test_order_is_traced(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct gs_trace_image image = { 0 };
	struct client *low, *high;
	uint64_t told = 0;

	(void)unused;
	o.clock = later;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 1000);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	/* Launched past the check: nobody rang, and it is found all the same. */
	prepare(low, 1, 10, 1);
	go(low, 1, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
	gs_page_store(low->page->slot[1].started, 1);
	grant(5 * US);
	assert_int_equal(state(low, 1), GS_K_RUNNING);
	grant(20 * US);
	assert_int_equal(state(low, 1), GS_K_TOEVICT);
	evicted(low, 0, 100);
	grant(1 * US);
	assert_false(has_turn(high));
	evicted(low, 1, 5);
	grant(1 * US);
	assert_true(has_turn(high));
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	for (size_t i = 0; i < image.records; i++)
		if (image.record[i].kind == GS_TRACE_TELL)
			told = image.record[i].to_ns - image.record[i].from_ns;
	assert_int_equal(told, 25 * US); /* from the first order to the second */
	gs_trace_image_free(&image);
	all_leave(low, high);
}

/* How soon is a launch seen that an urgent client makes without asking, beside a kernel that takes
 * 2 ms to leave? */
static uint64_t surprise(int one_context)
{
	struct client *low, *high;
	uint64_t next;

	begin_sharing("frs", one_context);
	low = running(1, 1, 1, 2 * MS);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	evicted(low, 0, 100);
	agent(low);
	agent(high);
	grant(MS);
	finish(high, 0);
	for (int i = 0; i < 5; i++)
		grant(MS);
	agent(low);
	gs_page_store(low->page->slot[0].started, 1);
	/* Both may launch. */
	grant(MS);
	next = grant(MS) - now;
	assert_true(has_turn(high) && has_turn(low));
	all_leave(low, high);
	return next;
}

static void test_launches_without_asking_are_seen_soon_under_mps(void **unused)
{
	(void)unused;
	assert_in_range(surprise(0), 500 * US, 20 * MS);
	assert_in_range(surprise(1), 1, 100 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grace_follows_the_pauses),
		cmocka_unit_test(test_periodic_client_keeps_nothing),
		cmocka_unit_test(test_chain_keeps_the_gpu),
		cmocka_unit_test(test_polls_while_somebody_waits),
		cmocka_unit_test(test_the_beginning_of_a_quantum_is_seen),
		cmocka_unit_test(test_polls_a_client_on_its_way_out),
		cmocka_unit_test(test_who_shares_the_gpu),
		cmocka_unit_test(test_order_is_traced),
		cmocka_unit_test(test_launches_without_asking_are_seen_soon_under_mps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
