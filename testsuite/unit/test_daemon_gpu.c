/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bridge between pages and the scheduler, driven by fake clients that
 * write plain structs, with time as a parameter.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/daemon/gpu.h"
#include "gpushare/daemon/trace.h"
#include "gpushare/daemon/watch.h"
#include "gpushare/proto/page.h"

#define MS GS_NS_PER_MS
#define US GS_NS_PER_US
#define T0 (1000 * MS)

/* A client that plays by the rules, and the GPU below it. */
struct client {
	struct gs_page *page;
	struct gs_tally tally;
	struct gs_kernel_map map;
	struct gs_tenant *tenant;
	uint64_t seq;
};

static struct gs_gpu *gpu;
static uint64_t now;

static struct gs_gpu_options options_of(const char *policy)
{
	struct gs_gpu_options o = {
		.policy = policy,
		.idle_grace_ns = 200 * US,
		.evict_deadline_ns = 100 * MS,
	};

	gs_sched_defaults(&o.sched);
	return o;
}

static void begin(const char *policy)
{
	struct gs_gpu_options o = options_of(policy);
	struct gs_error err;

	now = T0;
	gpu = gs_gpu_create(0, &o, now, &err);
	assert_non_null(gpu);
}

static void join_as(struct client *c, uint64_t id, int32_t priority, int adopted)
{
	struct gs_tenant_params p = { .id = id, .page = c->page, .tally = &c->tally,
				      .kernels = &c->map, .priority = priority,
				      .shares = 50, .name = "a client" };

	c->tenant = gs_gpu_add(gpu, &p, adopted, now);
	assert_non_null(c->tenant);
}

static struct client *join(uint64_t id, int32_t priority)
{
	struct client *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->page = aligned_alloc(64, sizeof(*c->page));
	assert_non_null(c->page);
	memset(c->page, 0, sizeof(*c->page));
	join_as(c, id, priority, 0);
	return c;
}

static void leave(struct client *c)
{
	if (c->tenant)
		gs_gpu_remove(gpu, c->tenant, now);
	gs_tally_fini(&c->tally);
	free(c->page);
	free(c);
}

static uint64_t turn(uint64_t after)
{
	now += after;
	return gs_gpu_turn(gpu, now);
}

/* A move that the table allows to the one who makes it. */
static void go(struct client *c, unsigned i, uint32_t from, uint32_t to, unsigned by)
{
	assert_true(gs_kstate_writers(from, to) & by);
	assert_true(gs_stub_move(&c->page->stub[i], from, to));
}

static uint32_t state(struct client *c, unsigned i)
{
	return gs_page_load(c->page->stub[i].kstate);
}

static uint32_t has_turn(struct client *c)
{
	return gs_page_load(c->page->turn);
}

static void prepare(struct client *c, unsigned i, uint64_t nt, int evictable)
{
	struct gs_stub *s = &c->page->stub[i];

	assert_int_equal(state(c, i), GS_K_PREP);
	gs_page_store(s->started, 0);
	gs_page_store(s->nt, nt);
	gs_page_store(s->done, 0);
	gs_page_store(s->alone_ns, 10 * MS);
	gs_page_store(s->flags, evictable ? GS_STUB_EVICTABLE : 0);
	gs_page_store(s->seq, c->seq++);
}

/* Launch: straight to the driver with the turn, else ask. */
static void launch(struct client *c, unsigned i, uint64_t nt, int evictable)
{
	prepare(c, i, nt, evictable);
	if (has_turn(c)) {
		go(c, i, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
		gs_page_store(c->page->stub[i].started, 1);
	} else {
		go(c, i, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		gs_gpu_bell(c->tenant);
	}
}

/* The client's agent: launches what is TORUN, has heard the bell. */
static void agent(struct client *c)
{
	for (unsigned i = 0; i < GS_PAGE_STUBS; i++)
		if (state(c, i) == GS_K_TORUN) {
			gs_page_store(c->page->stub[i].started, 0);
			go(c, i, GS_K_TORUN, GS_K_RUNNING, GS_BY_CLIENT);
			gs_page_store(c->page->stub[i].started, 1);
		}
	gs_page_store(c->page->heard, gs_page_load(c->page->bell));
}

static void finish(struct client *c, unsigned i)
{
	struct gs_stub *s = &c->page->stub[i];

	gs_page_store(s->done, gs_page_load(s->nt));
	go(c, i, state(c, i), GS_K_DONE, GS_BY_GPU);
}

static void evicted(struct client *c, unsigned i, uint64_t done)
{
	gs_page_store(c->page->stub[i].done, done);
	go(c, i, GS_K_TOEVICT, GS_K_READY, GS_BY_GPU);
}

static void test_alone_keeps_the_turn(void **unused)
{
	struct client *c;

	(void)unused;
	begin("piv");
	c = join(1, 1);
	turn(0);
	assert_false(has_turn(c));
	launch(c, 0, 100, 1);
	turn(0);
	assert_true(has_turn(c));
	assert_int_equal(state(c, 0), GS_K_TORUN);
	agent(c);
	finish(c, 0);
	turn(5 * MS);
	assert_true(has_turn(c));
	/* The second launch asks nobody, and is counted all the same. */
	launch(c, 1, 100, 1);
	assert_int_equal(state(c, 1), GS_K_RUNNING);
	turn(1 * MS);
	finish(c, 1);
	turn(9 * MS);
	assert_int_equal(c->tally.launches, 2);
	assert_int_equal(c->tally.waiting_ns, 0);
	assert_int_equal(c->tally.turnaround_ns, c->tally.active_ns);
	assert_int_equal(c->tally.active_ns, 14 * MS);
	assert_int_equal(c->tally.periods, 2);
	leave(c);
	gs_gpu_destroy(gpu);
}

static void test_priority_evicts_and_resumes(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 1000, 1);
	turn(0);
	agent(low);
	turn(5 * MS);
	launch(high, 0, 10, 1);
	/* Told to leave, at once, and the other does not start before it has. */
	assert_true(turn(1 * MS) <= now + 50 * US);
	assert_false(has_turn(low));
	assert_false(has_turn(high));
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_int_equal(state(high, 0), GS_K_READY);
	agent(low);
	turn(40 * US);
	assert_int_equal(state(high, 0), GS_K_READY);
	evicted(low, 0, 400);
	turn(20 * US);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TORUN);
	assert_int_equal(low->tally.preemptions, 1);
	assert_int_equal(low->tally.evictions, 1);
	assert_int_equal(low->tally.sample_us[0], 60);
	agent(high);
	turn(2 * MS);
	assert_int_equal(state(low, 0), GS_K_READY);
	finish(high, 0);
	turn(0);             /* idle: the grace begins */
	assert_int_equal(state(low, 0), GS_K_READY);
	turn(200 * US);
	assert_false(has_turn(high));
	assert_true(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_TORUN);
	agent(low);
	finish(low, 0);
	turn(1 * MS);
	assert_int_equal(low->tally.preemptions, 1);
	assert_int_equal(high->tally.preemptions, 0);
	/* Low: 6 ms, the eviction and 1 ms with the GPU, 2.2 ms without. */
	assert_int_equal(low->tally.active_ns, 7 * MS + 60 * US);
	assert_int_equal(low->tally.waiting_ns, 2 * MS + 200 * US);
	assert_int_equal(low->tally.turnaround_ns,
			 low->tally.active_ns + low->tally.waiting_ns);
	/* High waited for the eviction only. */
	assert_int_equal(high->tally.waiting_ns, 60 * US);
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

/* The next client's turn begins while the last one's block-tasks end. */
static void test_overlap(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high, *top;
	struct gs_error err;

	(void)unused;
	o.overlap_ns = 20 * US;
	now = T0;
	gpu = gs_gpu_create(0, &o, now, &err);
	assert_non_null(gpu);
	low = join(1, 1);
	high = join(2, 10);
	top = join(3, 20);
	launch(low, 0, 1000, 1);
	gs_page_store(low->page->stub[0].leave_ns, 10 * US);
	turn(0);
	agent(low);
	turn(5 * MS);
	launch(high, 0, 10, 1);
	gs_page_store(high->page->stub[0].leave_ns, 10 * US);
	assert_true(turn(1 * MS) <= now + 50 * US);
	assert_false(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TORUN);
	agent(low);
	agent(high);
	/* One at a time on its way out: a third waits for the first to be gone. */
	launch(top, 0, 10, 1);
	turn(20 * US);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_RUNNING);
	evicted(low, 0, 400);
	turn(40 * US);
	assert_int_equal(low->tally.evictions, 1);
	assert_int_equal(low->tally.sample_us[0], 60);
	assert_int_equal(low->tally.active_ns, 6 * MS + 60 * US);
	assert_int_equal(high->tally.waiting_ns, 0);
	assert_false(has_turn(high));
	assert_true(has_turn(top));
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	agent(high);
	agent(top);
	/* Done as it was told to leave: no task any more. */
	finish(high, 0);
	finish(top, 0);
	turn(1 * MS);
	turn(200 * US);
	assert_true(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_TORUN);
	assert_int_equal(high->tally.preemptions, 0);
	leave(low);
	leave(high);
	leave(top);
	gs_gpu_destroy(gpu);
}

/* Long block-tasks: the next client is told shortly before they should have ended. */
static void test_overlap_waits_for_long_block_tasks(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;
	struct gs_error err;

	(void)unused;
	o.overlap_ns = 20 * US;
	for (int known = 0; known < 2; known++) {
		now = T0;
		gpu = gs_gpu_create(0, &o, now, &err);
		assert_non_null(gpu);
		low = join(1, 1);
		high = join(2, 10);
		launch(low, 0, 1000, 1);
		gs_page_store(low->page->stub[0].leave_ns, known ? 100 * US : 0);
		turn(0);
		agent(low);
		launch(high, 0, 10, 1);
		turn(1 * MS);
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		agent(low);
		turn(70 * US);
		assert_false(has_turn(high));
		turn(15 * US);
		assert_int_equal(has_turn(high), known);
		evicted(low, 0, 400);
		turn(15 * US);
		assert_true(has_turn(high));
		leave(low);
		leave(high);
		gs_gpu_destroy(gpu);
	}
}

/* Whoever is gone, on its way out or with the turn: nothing of it is left behind. */
static void test_overlap_and_death(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;
	struct gs_error err;

	(void)unused;
	o.overlap_ns = 20 * US;
	for (int who = 0; who < 2; who++) {
		now = T0;
		gpu = gs_gpu_create(0, &o, now, &err);
		assert_non_null(gpu);
		low = join(1, 1);
		high = join(2, 10);
		launch(low, 0, 1000, 1);
		gs_page_store(low->page->stub[0].leave_ns, 10 * US);
		turn(0);
		agent(low);
		launch(high, 0, 10, 1);
		turn(1 * MS);
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		if (who == 0) {
			leave(low);
			turn(10 * US);
			assert_true(has_turn(high));
			leave(high);
		} else {
			leave(high);
			turn(10 * US);
			assert_false(has_turn(low)); /* it has not left yet */
			evicted(low, 0, 400);
			turn(10 * US);
			assert_true(has_turn(low));
			leave(low);
		}
		gs_gpu_destroy(gpu);
	}
}

static void test_equal_priority_waits(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 5);
	b = join(2, 5);
	launch(a, 0, 100, 1);
	turn(0);
	agent(a);
	launch(b, 0, 100, 1);
	turn(1 * MS);
	turn(20 * MS);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	assert_int_equal(state(b, 0), GS_K_READY);
	finish(a, 0);
	turn(0);
	turn(200 * US);
	assert_true(has_turn(b));
	assert_int_equal(a->tally.preemptions, 0);
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_holder_of_the_fast_path_is_compared(void **unused)
{
	struct client *high, *low;

	(void)unused;
	begin("piv");
	high = join(1, 10);
	low = join(2, 1);
	launch(high, 0, 1, 1);
	turn(0);
	agent(high);
	finish(high, 0);
	turn(1 * MS);
	/* Launched without a word to the daemon; then the other rings. */
	launch(high, 1, 100, 1);
	launch(low, 0, 100, 1);
	turn(10 * US);
	assert_int_equal(state(high, 1), GS_K_RUNNING);
	assert_int_equal(state(low, 0), GS_K_READY);
	assert_true(has_turn(high));
	leave(high);
	leave(low);
	gs_gpu_destroy(gpu);
}

static void test_idle_turn_is_handed_over_at_once(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 10);
	b = join(2, 1);
	launch(a, 0, 1, 1);
	turn(0);
	agent(a);
	finish(a, 0);
	turn(1 * MS);
	launch(b, 0, 1, 1);
	turn(0);
	assert_true(has_turn(b));
	assert_false(has_turn(a));
	assert_int_equal(a->tally.evictions, 0); /* nobody was evicted */
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_done_wins_the_race_with_toevict(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 1);
	turn(0);
	agent(low);
	turn(1 * MS);
	launch(high, 0, 1, 1);
	turn(0);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	finish(low, 0); /* TOEVICT -> DONE: it came too late to matter */
	turn(30 * US);
	assert_true(has_turn(high));
	assert_int_equal(low->tally.preemptions, 0);
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_torun_is_taken_back(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 1);
	turn(0);
	assert_int_equal(state(low, 0), GS_K_TORUN); /* not launched yet */
	launch(high, 0, 1, 1);
	turn(0);
	assert_int_equal(state(low, 0), GS_K_READY);
	assert_true(has_turn(high));
	assert_int_equal(low->tally.preemptions, 0);
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_unevictable_is_waited_for(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 0);
	turn(0);
	agent(low);
	turn(1 * MS);
	launch(high, 0, 1, 1);
	turn(0);
	agent(low);
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	turn(50 * MS);
	assert_false(has_turn(high));
	assert_false(has_turn(low));
	finish(low, 0);
	turn(1 * MS);
	assert_true(has_turn(high));
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_deadline_bounds_the_wait(void **unused)
{
	struct gs_gpu_status st;
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 1);
	turn(0);
	agent(low);
	turn(1 * MS);
	launch(high, 0, 1, 1);
	turn(0);
	turn(99 * MS);
	assert_false(has_turn(high));
	turn(2 * MS);
	assert_true(has_turn(high));
	gs_gpu_status(gpu, &st);
	assert_int_equal(st.overdue, 1);
	/* It does leave in the end, and is then runnable like any other. */
	evicted(low, 0, 50);
	turn(1 * MS);
	assert_int_equal(low->tally.preemptions, 1);
	assert_int_equal(state(low, 0), GS_K_READY);
	agent(high);
	finish(high, 0);
	turn(0);
	turn(200 * US);
	assert_int_equal(state(low, 0), GS_K_TORUN);
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

/* SIGSTOP: it cannot be told to leave, so nobody waits for it, and its time does not count. */
static void test_stopped_holder(void **unused)
{
	struct client *low, *high;
	uint64_t waited;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(high, 0, 100, 1);
	turn(0);
	agent(high);
	turn(1 * MS);
	assert_true(has_turn(high));
	assert_int_equal(gs_tenant_matters(high->tenant), 1);
	assert_int_equal(gs_tenant_stopped(high->tenant, 1, now), 1);
	assert_int_equal(gs_tenant_stopped(high->tenant, 1, now), 0);
	turn(1 * MS);
	assert_true(has_turn(high)); /* nobody else wants it */
	launch(low, 0, 1, 1);
	turn(0);
	assert_true(has_turn(low)); /* long before the deadline, and below in priority */
	assert_false(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	turn(50 * MS);
	assert_true(has_turn(low));
	gs_gpu_settle(gpu, now);
	waited = high->tally.waiting_ns;
	turn(50 * MS);
	gs_gpu_settle(gpu, now);
	assert_int_equal(high->tally.waiting_ns, waited);
	assert_int_equal(gs_tenant_stopped(high->tenant, 0, now), 1);
	evicted(high, 0, 50);
	gs_gpu_bell(high->tenant);
	turn(1 * MS);
	assert_false(has_turn(low)); /* it goes on, and has priority again */
	assert_int_equal(state(low, 0), GS_K_READY);
	assert_true(has_turn(high));
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_stopped_waits_for_nothing(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 0);
	turn(0);
	agent(low);
	launch(high, 0, 1, 1);
	turn(1 * MS); /* low is to leave, and cannot */
	assert_false(has_turn(low));
	assert_int_equal(gs_tenant_stopped(high->tenant, 1, now), 1);
	finish(low, 0);
	launch(low, 1, 1, 1);
	turn(1 * MS);
	assert_false(has_turn(high));
	assert_true(has_turn(low));
	assert_int_equal(gs_tenant_stopped(high->tenant, 0, now), 1);
	agent(low);
	finish(low, 1);
	turn(1 * MS);
	turn(1 * MS);
	assert_true(has_turn(high));
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

/* It is stopped while it leaves. */
static void test_stopped_on_its_way_out(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 1);
	turn(0);
	agent(low);
	turn(1 * MS);
	launch(high, 0, 1, 1);
	turn(0);
	assert_false(has_turn(high));
	assert_int_equal(gs_tenant_stopped(low->tenant, 1, now), 1);
	turn(0);
	assert_true(has_turn(high));
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_unstarted_needs_the_bell(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 1);
	turn(0);
	agent(low);
	gs_page_store(low->page->stub[0].started, 0); /* still in its stream */
	turn(1 * MS);
	launch(high, 0, 1, 1);
	turn(0);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	turn(1 * MS);
	assert_false(has_turn(high));
	gs_page_store(low->page->heard, gs_page_load(low->page->bell));
	turn(50 * US);
	assert_true(has_turn(high));
	/* It starts, finds the limit 0 and leaves without having done a thing. */
	gs_page_store(low->page->stub[0].started, 1);
	evicted(low, 0, 0);
	turn(1 * MS);
	assert_int_equal(low->tally.preemptions, 0);
	assert_int_equal(state(low, 0), GS_K_READY);
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_launch_past_the_check_is_caught(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 100, 1);
	turn(0);
	agent(low);
	turn(1 * MS);
	launch(high, 0, 1, 1);
	turn(0); /* low has lost the turn */
	prepare(low, 1, 100, 1);
	go(low, 1, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT); /* it had read turn == 1 before */
	gs_page_store(low->page->stub[1].started, 1);
	evicted(low, 0, 10);
	turn(50 * US);
	assert_int_equal(state(low, 1), GS_K_TOEVICT);
	assert_false(has_turn(high));
	evicted(low, 1, 10);
	turn(50 * US);
	assert_true(has_turn(high));
	assert_int_equal(low->tally.preemptions, 2);
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_death_frees_the_gpu(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 10);
	b = join(2, 1);
	launch(a, 0, 100, 1);
	turn(0);
	agent(a);
	launch(b, 0, 100, 1);
	turn(1 * MS);
	assert_int_equal(state(b, 0), GS_K_READY);
	gs_gpu_remove(gpu, a->tenant, now);
	a->tenant = NULL;
	turn(0);
	assert_int_equal(state(b, 0), GS_K_TORUN);
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_death_while_draining(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	b = join(2, 10);
	launch(a, 0, 100, 1);
	turn(0);
	agent(a);
	launch(b, 0, 100, 1);
	turn(1 * MS);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	gs_gpu_remove(gpu, a->tenant, now);
	a->tenant = NULL;
	turn(0);
	assert_int_equal(state(b, 0), GS_K_TORUN);
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_adoption(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	/* Two clients that ran without a daemon: both think that they may. */
	a = join(1, 1);
	b = join(2, 10);
	gs_gpu_remove(gpu, a->tenant, now);
	gs_gpu_remove(gpu, b->tenant, now);
	gs_page_store(a->page->turn, 1);
	gs_page_store(b->page->turn, 1);
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
	turn(1 * MS); /* b is runnable and more urgent */
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 20);
	turn(50 * US);
	assert_int_equal(state(b, 0), GS_K_TORUN);
	assert_int_equal(a->tally.launches, 8); /* the earlier daemon's as well */
	assert_int_equal(a->tally.preemptions, 1);
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_hostile_page(void **unused)
{
	struct client *a, *b;
	uint32_t kstate;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	b = join(2, 1);
	memset(a->page, 0xff, sizeof(*a->page));
	gs_gpu_bell(a->tenant);
	turn(0);
	assert_true(gs_tenant_bad(a->tenant, &kstate));
	assert_int_equal(kstate, UINT32_MAX);
	assert_false(gs_tenant_bad(b->tenant, &kstate));
	/* Absurd figures in a legal state harm nobody. */
	memset(a->page, 0, sizeof(*a->page));
	gs_page_store(b->page->stub[3].nt, UINT64_MAX);
	gs_page_store(b->page->stub[3].done, UINT64_MAX);
	gs_page_store(b->page->stub[3].alone_ns, UINT64_MAX);
	gs_page_store(b->page->stub[3].kernel, UINT32_MAX);
	gs_page_store(b->page->stub[3].seq, UINT64_MAX);
	gs_page_store(b->page->stub[3].kstate, GS_K_READY);
	gs_page_store(b->page->bell, UINT32_MAX);
	gs_gpu_bell(b->tenant);
	turn(1 * MS);
	assert_int_equal(state(b, 3), GS_K_TORUN);
	assert_false(gs_tenant_bad(b->tenant, &kstate));
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_reconfigure_keeps_the_holder(void **unused)
{
	struct gs_gpu_options o = options_of("frs"), bad = options_of("none such");
	struct gs_gpu_status st;
	struct gs_error err;
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	b = join(2, 1);
	launch(a, 0, 100, 1);
	turn(0);
	agent(a);
	launch(b, 0, 100, 1);
	turn(1 * MS);
	assert_int_equal(gs_gpu_configure(gpu, &bad, now, &err), -1);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "piv");
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	turn(0);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "frs");
	assert_int_equal(st.waiting, 1);
	assert_true(has_turn(a));
	/* Under frs the one that waits gets its turn in time. */
	for (int i = 0; i < 100 && state(a, 0) == GS_K_RUNNING; i++)
		turn(1 * MS);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 50);
	turn(50 * US);
	assert_true(has_turn(b));
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_run_is_followed_by_its_deadline(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct gs_error err;
	struct client *a, *b;

	(void)unused;
	begin("rr");
	o.sched.rr_quantum_ns = 300 * US;
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	a = join(1, 1);
	b = join(2, 1);
	launch(a, 0, 100, 1);
	launch(b, 0, 100, 1);
	/* RUN's own deadline is "now": the turn asks once more and learns when the quantum ends. */
	assert_int_equal(turn(0), now + 300 * US);
	assert_int_equal(has_turn(a) + has_turn(b), 1);
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_figures_are_of_this_moment(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("fifo");
	a = join(1, 1);
	b = join(2, 1);
	launch(a, 0, 100, 1);
	turn(0);
	agent(a);
	launch(b, 0, 100, 1);
	turn(0);
	now += 7 * MS;
	gs_gpu_settle(gpu, now);
	assert_int_equal(a->tally.active_ns, 7 * MS);
	assert_int_equal(b->tally.waiting_ns, 7 * MS);
	assert_int_equal(b->tally.turnaround_ns, 7 * MS);
	leave(a);
	leave(b);
	gs_gpu_destroy(gpu);
}

static void test_policy_changes_live(void **unused)
{
	struct gs_gpu_status st;
	struct gs_error err;
	struct client *low, *high;

	(void)unused;
	begin("fifo");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 1000, 1);
	turn(0);
	agent(low);
	launch(high, 0, 10, 1);
	turn(1 * MS);
	assert_int_equal(state(low, 0), GS_K_RUNNING); /* fifo never preempts */
	assert_int_equal(gs_gpu_set_policy(gpu, "none such", now, &err), -1);
	assert_non_null(strstr(err.text, "choose one of fifo"));
	assert_int_equal(gs_gpu_set_policy(gpu, "piv", now, &err), 0);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "piv");
	assert_int_equal(st.waiting, 1);
	turn(0);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	leave(low);
	leave(high);
	gs_gpu_destroy(gpu);
}

static void test_priority_changes_live(void **unused)
{
	struct client *a, *b, *c;

	(void)unused;
	begin("piv");
	a = join(1, 5);
	b = join(2, 5);
	c = join(3, 5);
	launch(a, 0, 1000, 1);
	turn(0);
	agent(a);
	launch(b, 0, 10, 1);
	turn(1 * MS);
	launch(c, 0, 10, 1);
	turn(1 * MS);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	/* The last to come, already waiting, becomes the most urgent. */
	gs_tenant_priority(c->tenant, 6, now);
	turn(0);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 10);
	turn(50 * US);
	assert_true(has_turn(c));
	agent(c);
	/* The holder falls behind those that wait. */
	gs_tenant_priority(c->tenant, 1, now);
	turn(1 * MS);
	assert_int_equal(state(c, 0), GS_K_TOEVICT);
	leave(a);
	leave(b);
	leave(c);
	gs_gpu_destroy(gpu);
}

/* ---- the trace ---- */

static const struct gs_trace_record *record_of(const struct gs_trace_image *image, uint64_t id,
					       enum gs_trace_kind kind, unsigned nth)
{
	for (size_t i = 0; i < image->records; i++)
		if (image->record[i].kind == (uint32_t)kind &&
		    image->lane[image->record[i].lane].id == id && nth-- == 0)
			return &image->record[i];
	return NULL;
}

static void test_trace_tells_who_had_the_gpu(void **unused)
{
	struct gs_trace_image image = { 0 };
	const struct gs_trace_record *r;
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 1000, 1);
	turn(0);
	agent(low);
	launch(high, 0, 10, 1);
	turn(1 * MS);
	agent(low);
	evicted(low, 0, 400);
	turn(60 * US);
	agent(high);
	turn(2 * MS);
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	assert_int_equal(image.lanes, 2);
	r = record_of(&image, 1, GS_TRACE_TURN, 0);
	assert_int_equal(r->from_ns, T0);
	assert_int_equal(r->to_ns, T0 + 1 * MS + 60 * US);
	r = record_of(&image, 1, GS_TRACE_EVICT, 0);
	assert_int_equal(r->from_ns, T0 + 1 * MS);
	assert_int_equal(r->to_ns, T0 + 1 * MS + 60 * US);
	r = record_of(&image, 2, GS_TRACE_WAIT, 0); /* over */
	assert_int_equal(r->to_ns - r->from_ns, 60 * US);
	r = record_of(&image, 2, GS_TRACE_TURN, 0); /* goes on */
	assert_int_equal(r->from_ns, T0 + 1 * MS + 60 * US);
	assert_int_equal(r->to_ns, now);
	r = record_of(&image, 1, GS_TRACE_WAIT, 0); /* goes on */
	assert_int_equal(r->to_ns, now);
	assert_null(record_of(&image, 1, GS_TRACE_OVERDUE, 0));
	gs_trace_image_free(&image);
	leave(low);
	leave(high);
	/* Those who left are in it as long as there is a record of them. */
	memset(&image, 0, sizeof(image));
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	assert_int_equal(image.lanes, 2);
	gs_trace_image_free(&image);
	gs_gpu_destroy(gpu);
}

static void test_trace_is_bounded(void **unused)
{
	struct gs_trace_lane one = { .id = 1 }, two = { .id = 2 };
	struct gs_trace *trace = gs_trace_create(4);
	struct gs_traced *a = gs_trace_join(trace, &one), *b = gs_trace_join(trace, &two);
	struct gs_trace_image image = { 0 }, same;
	struct gs_error err;
	size_t size;
	char *bytes;

	(void)unused;
	for (uint64_t i = 0; i < 3; i++)
		gs_trace_add(trace, a, GS_TRACE_TURN, i, i + 1);
	gs_trace_add(trace, NULL, GS_TRACE_TURN, 0, 1);
	gs_trace_leave(trace, a);
	for (uint64_t i = 3; i < 10; i++)
		gs_trace_add(trace, b, GS_TRACE_TURN, i, i + 1);
	assert_int_equal(gs_trace_image(trace, &image), 0);
	assert_int_equal(image.lanes, 1); /* a was forgotten with its last record */
	assert_int_equal(image.lane[0].id, 2);
	assert_int_equal(image.records, 4);
	assert_int_equal(image.record[0].from_ns, 6);
	assert_int_equal(image.lost, 6);
	bytes = gs_trace_pack(&image, &size);
	assert_int_equal(gs_trace_unpack(bytes, size, &same, &err), 0);
	assert_int_equal(same.records, 4);
	assert_int_equal(same.lost, 6);
	assert_memory_equal(same.lane, image.lane, sizeof(*same.lane));
	gs_trace_image_free(&same);
	assert_int_equal(gs_trace_unpack(bytes, size - 1, &same, &err), -1);
	assert_int_equal(gs_trace_unpack(bytes, 3, &same, &err), -1);
	((struct gs_trace_record *)(void *)(bytes + size))[-1].lane = 1;
	assert_int_equal(gs_trace_unpack(bytes, size, &same, &err), -1);
	free(bytes);
	gs_trace_image_free(&image);
	gs_trace_leave(trace, b);
	gs_trace_destroy(trace);
}

/* ---- any order of events ------------------------------------------------- */

static uint64_t dice_state;

static unsigned dice(unsigned sides)
{
	dice_state = dice_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(dice_state >> 33) % sides;
}

#define PLAYERS 4
#define LAUNCHES 60
#define PLAYED_STUBS 3

/* One step of one stub: the driver starts it, it ends, it leaves, it is reclaimed. */
static void play_stub(struct client *c, unsigned i)
{
	struct gs_stub *s = &c->page->stub[i];
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
	unsigned i = dice(PLAYED_STUBS);

	if (dice(3) == 0)
		agent(c);
	if (state(c, i) == GS_K_PREP && c->seq < LAUNCHES && dice(3) == 0) {
		int evictable = dice(5) != 0;

		launch(c, i, 100, evictable);
		/* Still in its stream.  One that cannot leave would then not be
		 * waited for, and start beside the next client's. */
		if (state(c, i) == GS_K_RUNNING && evictable && dice(2))
			gs_page_store(c->page->stub[i].started, 0);
	} else {
		play_stub(c, i);
	}
}

static int is_through(struct client *c)
{
	for (unsigned i = 0; i < PLAYED_STUBS; i++)
		if (state(c, i) != GS_K_PREP && state(c, i) != GS_K_DONE)
			return 0;
	return c->seq == LAUNCHES;
}

/* At most one has the turn; none has it while another's kernel is on the GPU. */
static void assert_exclusive(struct client **c)
{
	int turns = 0, on_gpu = 0;

	for (int p = 0; p < PLAYERS; p++) {
		int running = 0;

		for (unsigned i = 0; i < PLAYED_STUBS; i++)
			running |= (state(c[p], i) == GS_K_RUNNING ||
				    state(c[p], i) == GS_K_TOEVICT) &&
				   gs_page_load(c[p]->page->stub[i].started);
		turns += has_turn(c[p]) != 0;
		on_gpu += running;
		if (running && !has_turn(c[p]))
			for (int q = 0; q < PLAYERS; q++)
				assert_false(has_turn(c[q]));
	}
	assert_true(turns <= 1);
	assert_true(on_gpu <= 1);
}

static void test_any_order_of_events(void **unused)
{
	const char *policy;

	(void)unused;
	for (size_t n = 0; (policy = gs_sched_policy_name(n)); n++)
		for (unsigned game = 0; game < 25; game++) {
			struct client *c[PLAYERS];
			uint64_t steps = 0;
			int through = 0;

			dice_state = 1000 * n + game;
			begin(policy);
			for (int p = 0; p < PLAYERS; p++)
				c[p] = join((uint64_t)p + 1, (int32_t)dice(3));
			while (through < PLAYERS) {
				/* A game that does not end is a GPU that nobody gets. */
				assert_true(++steps < 200000);
				play(c[dice(PLAYERS)]);
				if (dice(2))
					turn((10 + dice(300)) * US);
				assert_exclusive(c);
				for (through = 0; through < PLAYERS; through++)
					if (!is_through(c[through]))
						break;
			}
			turn(20 * MS);
			for (int p = 0; p < PLAYERS; p++) {
				gs_gpu_remove(gpu, c[p]->tenant, now);
				c[p]->tenant = NULL;
				assert_int_equal(c[p]->tally.launches, LAUNCHES);
				assert_int_equal(c[p]->tally.turnaround_ns,
						 c[p]->tally.active_ns + c[p]->tally.waiting_ns);
				leave(c[p]);
			}
			gs_gpu_destroy(gpu);
		}
}

static void test_watch_counts_what_it_did_not_see(void **unused)
{
	struct gs_page *page = calloc(1, sizeof(*page));
	struct gs_watch w;
	struct gs_look look;

	(void)unused;
	assert_non_null(page);
	memset(&w, 0, sizeof(w));
	/* Launches 0..4 in stub 0, of which the last is seen as DONE. */
	gs_page_store(page->stub[0].seq, 4);
	gs_page_store(page->stub[0].alone_ns, 3000);
	gs_page_store(page->stub[0].kstate, GS_K_DONE);
	gs_watch_look(&w, page, T0, &look);
	assert_int_equal(look.launches, 5);
	assert_int_equal(look.unseen_ns, 3000);
	assert_int_equal(gs_look_live(&look), 0);
	assert_int_equal(look.nevents, 2);
	gs_watch_look(&w, page, T0 + MS, &look);
	assert_int_equal(look.launches, 0);
	assert_int_equal(look.nevents, 0);
	/* A launch in the making is not one yet. */
	gs_page_store(page->stub[0].kstate, GS_K_PREP);
	gs_page_store(page->stub[0].seq, 5);
	gs_watch_look(&w, page, T0 + MS, &look);
	assert_int_equal(look.launches, 0);
	assert_int_equal(look.nevents, 0);
	gs_page_store(page->stub[0].kstate, GS_K_READY);
	gs_watch_look(&w, page, T0 + 2 * MS, &look);
	assert_int_equal(look.launches, 1);
	assert_int_equal(look.ready, 1);
	gs_page_store(page->stub[0].kstate, GS_K_DONE);
	gs_watch_look(&w, page, T0 + 5 * MS, &look);
	assert_int_equal(look.nevents, 1);
	assert_int_equal(look.event[0].kind, GS_EV_FINISHED);
	assert_int_equal(look.event[0].ns, 3 * MS);
	free(page);
}

static void test_tally_is_bounded(void **unused)
{
	struct gs_tally t = { 0 };
	struct gs_kernel_map map = { .slot = { 0 } };
	char name[32];

	(void)unused;
	assert_int_equal(gs_tally_announce(&t, &map, GS_TALLY_KERNELS_MAX, "k", 0, 0, 0), -1);
	assert_null(gs_tally_kernel(&t, &map, GS_TALLY_KERNELS_MAX));
	assert_null(gs_tally_kernel(&t, &map, 3));
	for (unsigned i = 0; i < GS_TALLY_KERNELS_MAX; i++) {
		snprintf(name, sizeof(name), "kernel%u", i);
		assert_int_equal(gs_tally_announce(&t, &map, i, name, 1, 0, 32), 0);
	}
	assert_int_equal(gs_tally_announce(&t, &map, 0, "one more", 1, 0, 32), -1);
	assert_int_equal(gs_tally_announce(&t, &map, 5, "kernel9", 1, 0, 32), 0);
	assert_ptr_equal(gs_tally_kernel(&t, &map, 5), gs_tally_kernel(&t, &map, 9));
	gs_tally_kernel(&t, &map, 77)->launches = 3;
	gs_tally_trim(&t, 2);
	assert_int_equal(t.nkernel, 2);
	assert_string_equal(t.kernel[0].name, "kernel77");
	assert_null(gs_tally_kernel(&t, &map, 4000));
	for (unsigned i = 0; i < 3 * GS_TALLY_SAMPLES; i++)
		gs_tally_evicted(&t, (i < 2 * GS_TALLY_SAMPLES ? 1000 : 7) * US);
	gs_tally_quantiles(&t);
	assert_true(t.p50_us == 7.0); /* the latest only */
	gs_tally_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone_keeps_the_turn),
		cmocka_unit_test(test_priority_evicts_and_resumes),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_overlap_waits_for_long_block_tasks),
		cmocka_unit_test(test_overlap_and_death),
		cmocka_unit_test(test_equal_priority_waits),
		cmocka_unit_test(test_stopped_holder),
		cmocka_unit_test(test_stopped_waits_for_nothing),
		cmocka_unit_test(test_stopped_on_its_way_out),
		cmocka_unit_test(test_holder_of_the_fast_path_is_compared),
		cmocka_unit_test(test_idle_turn_is_handed_over_at_once),
		cmocka_unit_test(test_done_wins_the_race_with_toevict),
		cmocka_unit_test(test_torun_is_taken_back),
		cmocka_unit_test(test_unevictable_is_waited_for),
		cmocka_unit_test(test_deadline_bounds_the_wait),
		cmocka_unit_test(test_unstarted_needs_the_bell),
		cmocka_unit_test(test_launch_past_the_check_is_caught),
		cmocka_unit_test(test_death_frees_the_gpu),
		cmocka_unit_test(test_death_while_draining),
		cmocka_unit_test(test_adoption),
		cmocka_unit_test(test_hostile_page),
		cmocka_unit_test(test_reconfigure_keeps_the_holder),
		cmocka_unit_test(test_run_is_followed_by_its_deadline),
		cmocka_unit_test(test_figures_are_of_this_moment),
		cmocka_unit_test(test_policy_changes_live),
		cmocka_unit_test(test_priority_changes_live),
		cmocka_unit_test(test_trace_tells_who_had_the_gpu),
		cmocka_unit_test(test_trace_is_bounded),
		cmocka_unit_test(test_any_order_of_events),
		cmocka_unit_test(test_watch_counts_what_it_did_not_see),
		cmocka_unit_test(test_tally_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
