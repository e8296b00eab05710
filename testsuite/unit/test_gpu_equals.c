/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Equals over minutes: nobody is starved by what was before, by what the others are like, or by who
 * does not go on (daemon/usage.h). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpushare/arbiter/gpu_core.h"
#include "sharing_rig.h"

struct two {
	struct client *a, *b;
	uint64_t left_a, left_b;
	unsigned ran_a, ran_b;
};

static void begin_two(struct two *t, int mps, int32_t priority_a, int32_t priority_b)
{
	begin_sharing("frs", mps);
	*t = (struct two) { .left_a = 1, .left_b = 1 };
	t->a = join(1, priority_a);
	t->b = join(2, priority_b);
}

/* So many ms of both, or of the first alone. */
static void both_work(struct two *t, unsigned ms, int evictable, uint64_t ns, int second)
{
	t->ran_a = t->ran_b = 0;
	for (unsigned i = 0; i < ms; i++) {
		t->ran_a += work(t->a, &t->left_a, evictable, ns);
		if (second)
			t->ran_b += work(t->b, &t->left_b, evictable, ns);
		grant(MS);
	}
}

/* Of what they have had together; each hand-over costs them a ms or two here. */
static void expect_even(const struct two *t)
{
	unsigned sum = t->ran_a + t->ran_b;

	assert_true(sum > 5000);
	assert_in_range(t->ran_a, sum / 5 * 2, sum / 5 * 3);
}

/* The kernels that can leave, under time slices; and those of 31 ms under MPS, which take turns at
 * launching. */
static const struct {
	int mps, evictable;
	uint64_t ns;
} kind[] = { { 0, 1, 10 * MS }, { 1, AS_IS, 31 * MS } };

static void who_was_stopped_has_no_claim(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct two t;

		begin_two(&t, kind[i].mps, 5, 5);
		both_work(&t, 1000, kind[i].evictable, kind[i].ns, 1);
		gs_gpu_client_stopped(t.b->gpu_client, 1, now);
		both_work(&t, 60000, kind[i].evictable, kind[i].ns, 0);
		gs_gpu_client_stopped(t.b->gpu_client, 0, now);
		both_work(&t, 20000, kind[i].evictable, kind[i].ns, 1);
		expect_even(&t);
		all_leave(t.a, t.b);
	}
}

static void who_was_less_urgent_has_no_claim(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct two t;

		begin_two(&t, kind[i].mps, 9, 5);
		both_work(&t, 60000, kind[i].evictable, kind[i].ns, 1);
		gs_gpu_client_priority(t.a->gpu_client, 5, 10, now);
		both_work(&t, 20000, kind[i].evictable, kind[i].ns, 1);
		expect_even(&t);
		all_leave(t.a, t.b);
	}
}

static void starvation_bound_holds_against_several(void **unused)
{
	(void)unused;
	for (int mps = 0; mps < 2; mps++) {
		struct gs_gpu_options o = options_of("frs");
		struct client *high[2], *low;
		uint64_t left[3] = { 1, 1, 1 };
		unsigned ran = 0;

		o.leave_most_ns = 300 * US;
		o.one_context = mps;
		o.sched.by_priority = 1;
		o.sched.starvation_ns = 200 * MS;
		begin_with(&o);
		high[0] = join(1, 9);
		high[1] = join(2, 9);
		low = join(3, 1);
		for (int i = 0; i < 20000; i++) {
			for (int k = 0; k < 2; k++)
				work(high[k], &left[k], AS_IS, 2 * MS);
			ran += work(low, &left[2], 1, 5 * MS);
			grant(MS);
		}
		assert_in_range(ran, 80, 2000);
		all_leave(high[0], high[1], low);
	}
}

static void forced_equals_are_served(void **unused)
{
	(void)unused;
	for (int mps = 0; mps < 2; mps++) {
		struct client *forced;
		uint64_t left = 1;
		unsigned ran = 0;
		struct two t;

		begin_two(&t, mps, 5, 5);
		force_ns = 20 * MS;
		forced = join(3, 5);
		force_ns = 0;
		for (int i = 0; i < 20000; i++) {
			work(t.a, &t.left_a, AS_IS, MS);
			work(t.b, &t.left_b, AS_IS, MS);
			ran += work(forced, &left, 1, 10 * MS);
			grant(MS);
		}
		assert_in_range(ran, 2000, 20000);
		all_leave(t.a, t.b, forced);
	}
}

/* Its thread is let go and never launches. */
static void who_does_not_go_on_keeps_nobody_waiting(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct two t;

		begin_two(&t, kind[i].mps, 5, 5);
		both_work(&t, 100, kind[i].evictable, kind[i].ns, 0);
		launch_leaving(t.b, 0, kind[i].evictable, SOON, MS);
		both_work(&t, 20000, kind[i].evictable, kind[i].ns, 0);
		assert_in_range(t.ran_a, 4000, 20000);
		all_leave(t.a, t.b);
	}
}

static void pinned_while_it_is_beside(void **unused)
{
	struct two t;

	(void)unused;
	begin_two(&t, 0, 5, 5);
	launch_leaving(t.a, 0, AS_IS, 0, 10 * MS);
	grant(0);
	agent(t.a);
	launch_leaving(t.b, 0, AS_IS, 0, 10 * MS);
	grant(US);
	agent(t.b);
	grant(US);
	assert_true(has_turn(t.a) && has_turn(t.b));
	finish(gpu->holder == t.a->gpu_client ? t.a : t.b, 0);
	gs_gpu_pin(gpu->holder == t.a->gpu_client ? t.b->gpu_client : t.a->gpu_client);
	grant(US);
	grant(US);
	assert_int_equal(gpu->holder->phase, GS_RUNNING);
	gs_gpu_unpin(gpu);
	all_leave(t.a, t.b);
}

/* ---- programs that launch ahead, on a GPU that runs one kernel at a time --------------- */

#define STEP (20 * US)

/* Its launches are in one stream: the first of them runs, the others are behind it. */
struct program {
	struct client *c;
	unsigned ahead;        /* it has so many out */
	uint64_t ns, leave_ns; /* a kernel; how long its blocks take to leave, 0: they cannot */
	unsigned batch;    /* after so many it launches some without slots, and waits; 0: never */
	uint64_t tail_ns;  /* how long these take */
	unsigned first;    /* the slot of the first */
	unsigned launched; /* of the batch */
	uint64_t tail_left_ns;
	uint64_t left_ns, leaving_ns;
	uint64_t ran_ns; /* in all */
};

static unsigned slot_of(const struct program *p, unsigned i)
{
	return (p->first + i) % p->ahead;
}

static void launch_more(struct program *p)
{
	for (unsigned i = 0; i < p->ahead; i++) {
		unsigned slot = slot_of(p, i);

		if (p->batch && p->launched == p->batch)
			return;
		if (state(p->c, slot) != GS_K_PREP)
			continue;
		p->launched++;
		launch_leaving(p->c, slot, p->leave_ns != 0, p->leave_ns ? 2 * p->leave_ns : 0,
			       p->ns);
		if (state(p->c, slot) == GS_K_READY) /* its thread waits for the time slice */
			return;
		gs_page_store(p->c->page->slot[slot].started, 0);
	}
}

/* What was let go; of what had not begun nothing has now. */
static void hear(struct program *p)
{
	agent(p->c);
	for (unsigned i = 0; i < p->ahead; i++)
		gs_page_store(p->c->page->slot[slot_of(p, i)].started, i == 0 && p->left_ns);
}

/* Its first kernel is on the GPU for one step, or goes there.  1: the GPU was its. */
static int compute(struct program *p, int is_free)
{
	unsigned slot = p->first;
	uint32_t is = state(p->c, slot);

	if (is == GS_K_PREP && p->batch && p->launched == p->batch) {
		if (!is_free)
			return 0;
		p->ran_ns += STEP;
		p->tail_left_ns += STEP;
		if (p->tail_left_ns >= p->tail_ns)
			p->launched = p->tail_left_ns = 0;
		return 1;
	}
	if (is != GS_K_RUNNING && is != GS_K_TOEVICT)
		return 0;
	if (!gs_page_load(p->c->page->slot[slot].started)) {
		if (!is_free)
			return 0;
		gs_page_store(p->c->page->slot[slot].started, 1);
		p->left_ns = p->left_ns ? p->left_ns : p->ns;
		p->leaving_ns = is == GS_K_TOEVICT ? 0 : p->leave_ns;
	}
	p->ran_ns += STEP;
	p->left_ns -= STEP < p->left_ns ? STEP : p->left_ns - 1;
	p->leaving_ns -= is == GS_K_TOEVICT && p->leaving_ns >= STEP ? STEP : 0;
	if (p->left_ns <= 1) {
		p->left_ns = 0;
		finish(p->c, slot);
		go(p->c, slot, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		p->first = slot_of(p, 1);
	} else if (is == GS_K_TOEVICT && p->leaving_ns < STEP) {
		evicted(p->c, slot, gs_page_load(p->c->page->slot[slot].done) + 1);
	}
	return 1;
}

static int is_out(const struct program *p)
{
	uint32_t is = state(p->c, p->first);

	return is == GS_K_RUNNING || is == GS_K_TOEVICT;
}

/* As equals, for four seconds.  How long of it both had something out. */
static uint64_t run_as(int mps, struct program *a, struct program *b)
{
	uint64_t both_ns = 0;

	begin_sharing("frs", mps);
	a->c = join(1, 5);
	b->c = join(2, 5);
	for (uint64_t ns = 0; ns < 4 * GS_NS_PER_S; ns += STEP) {
		int used;

		hear(a);
		hear(b);
		launch_more(a);
		launch_more(b);
		/* Who is there stays there. */
		if (gs_page_load(b->c->page->slot[b->first].started)) {
			used = compute(b, 1);
			compute(a, !used);
		} else {
			used = compute(a, 1);
			compute(b, !used);
		}
		both_ns += is_out(a) && is_out(b) ? STEP : 0;
		grant(STEP);
	}
	all_leave(a->c, b->c);
	return both_ns;
}

static void run_equals(struct program *a, struct program *b)
{
	run_as(1, a, b);
}

static void expect_halves(const struct program *a, const struct program *b)
{
	uint64_t sum = a->ran_ns + b->ran_ns;

	assert_true(sum > 3600 * MS);
	assert_in_range(a->ran_ns, sum / 5 * 2, sum / 5 * 3);
}

/* What is behind an evicted kernel is not on the GPU, and costs its client nothing. */
static void evicted_with_more_behind(void **unused)
{
	struct program training = { .ahead = 20, .ns = 100 * US },
		       products = { .ahead = 4, .ns = 31 * MS, .leave_ns = 500 * US };

	(void)unused;
	run_equals(&training, &products);
	expect_halves(&training, &products);
}

static void flood_beside_long(void **unused)
{
	struct program flood = { .ahead = 24, .ns = 20 * US },
		       long_ones = { .ahead = 1, .ns = 100 * MS, .leave_ns = 100 * US };

	(void)unused;
	run_equals(&flood, &long_ones);
	expect_halves(&flood, &long_ones);
}

/* What it launches last nobody sees, and it only waits for that. */
static void flood_in_batches_beside_long(void **unused)
{
	struct program flood = { .ahead = 24, .ns = 20 * US, .batch = 44, .tail_ns = 400 * US },
		       long_ones = { .ahead = 1, .ns = 100 * MS, .leave_ns = 100 * US };

	(void)unused;
	run_equals(&flood, &long_ones);
	expect_halves(&flood, &long_ones);
}

/* Where the driver gives time slices, kernels of both that leave within a ms or two take turns:
 * slices would cost them more.  Beside kernels that cannot leave there are slices. */
static void slow_leavers_take_turns(void **unused)
{
	struct program products = { .ahead = 4, .ns = 31 * MS, .leave_ns = 500 * US },
		       others = products, training = { .ahead = 20, .ns = 100 * US };

	(void)unused;
	assert_in_range(run_as(0, &products, &others), 0, 200 * MS);
	expect_halves(&products, &others);
	assert_in_range(run_as(0, &training, &others), 3000 * MS, 4000 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_stopped_has_no_claim),
		cmocka_unit_test(who_was_less_urgent_has_no_claim),
		cmocka_unit_test(starvation_bound_holds_against_several),
		cmocka_unit_test(forced_equals_are_served),
		cmocka_unit_test(who_does_not_go_on_keeps_nobody_waiting),
		cmocka_unit_test(pinned_while_it_is_beside),
		cmocka_unit_test(evicted_with_more_behind),
		cmocka_unit_test(flood_beside_long),
		cmocka_unit_test(flood_in_batches_beside_long),
		cmocka_unit_test(slow_leavers_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
