/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of each kernel: its time, its block-tasks', how it leaves, and what nothing could make leave. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>

#include "gpushare/daemon/report/report.h"
#include "gpushare/arbiter/account.h"
#include "gpu_rig.h"

/* As they are announced. */
enum { LEAVES, STAYS };

static struct client *join_with_kernels(uint64_t id, int32_t priority)
{
	struct client *c = join(id, priority);

	assert_int_equal(gs_step_usage_announce(&c->usage, &c->map, LEAVES, "leaves", 1, 0, 32), 0);
	assert_int_equal(gs_step_usage_announce(&c->usage, &c->map, STAYS, "stays", 1, 0, 40), 0);
	return c;
}

static const struct gs_step_usage_kernel *kernel_of(const struct client *c, int number)
{
	return gs_step_usage_kernel((struct gs_step_usage *)(uintptr_t)&c->usage, &c->map,
				    (uint32_t)number);
}

/* Like launch(), of that kernel, predicted to take alone_ns; not evictable: for that reason. */
static void launch_of(struct client *c, unsigned i, uint32_t kernel, uint64_t nt, uint64_t alone_ns,
		      uint32_t why)
{
	struct gs_slot *s = &c->page->slot[i];

	prepare(c, i, nt, !why);
	gs_page_store(s->kernel, kernel);
	gs_page_store(s->alone_ns, alone_ns);
	gs_page_store(s->flags, why ? why << GS_SLOT_WHY_SHIFT : GS_SLOT_EVICTABLE);
	if (has_turn(c)) {
		go(c, i, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
		gs_page_store(s->started, 1);
	} else {
		go(c, i, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		gs_gpu_doorbell(c->gpu_client);
	}
	grant(0);
	agent(c);
}

/* What it was predicted to take, if that is longer than it was seen; what is not known, until it is
 * seen over. */
static void test_time_on_the_gpu(void **unused)
{
	struct client *c;

	(void)unused;
	begin("piv");
	c = join_with_kernels(1, 1);
	launch_of(c, 0, LEAVES, 1000, 10 * MS, 0);
	grant(3 * MS);
	grant(3 * MS);
	/* Of one that goes on, what was seen so far. */
	assert_in_range(kernel_of(c, LEAVES)->time.gpu_ns, 3 * MS, 6 * MS);
	finish(c, 0);
	grant(4 * MS);
	assert_int_equal(kernel_of(c, LEAVES)->time.gpu_ns, 10 * MS);
	go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch_of(c, 0, LEAVES, 1000, 0, 0);
	grant(1 * MS);
	grant(3 * MS);
	finish(c, 0);
	grant(2 * MS);
	assert_int_equal(kernel_of(c, LEAVES)->time.gpu_ns, 16 * MS);
	assert_int_equal(kernel_of(c, LEAVES)->tasks, 2000);
	assert_int_equal(kernel_of(c, LEAVES)->tasks_ns, 16 * MS);
	/* Predicted far too short. */
	go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch_of(c, 0, LEAVES, 1000, 1 * MS, 0);
	grant(1 * MS);
	grant(30 * MS);
	finish(c, 0);
	grant(5 * MS);
	assert_in_range(kernel_of(c, LEAVES)->time.gpu_ns, 46 * MS, 48 * MS);
	assert_int_equal(c->usage.time.gpu_ns, kernel_of(c, LEAVES)->time.gpu_ns);
	assert_int_equal(kernel_of(c, LEAVES)->tasks_ns, kernel_of(c, LEAVES)->time.gpu_ns);
	assert_int_equal(c->usage.time.unevictable_ns, 0);
	all_leave(c);
}

/* From the order until it is seen gone; waiting for the GPU is no time on it. */
static void test_latency_of_a_kernel(void **unused)
{
	struct client *low, *high;
	uint64_t before;

	(void)unused;
	begin("piv");
	low = join_with_kernels(1, 1);
	high = join_with_kernels(2, 10);
	launch_of(low, 0, LEAVES, 1000, 50 * MS, 0);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	agent(low);
	evicted(low, 0, 400);
	grant(60 * US);
	agent(high);
	before = kernel_of(low, LEAVES)->time.gpu_ns;
	grant(20 * MS);
	assert_int_equal(kernel_of(low, LEAVES)->time.gpu_ns, before);
	finish(high, 0);
	grant(1 * MS);
	grant(1 * MS);
	agent(low);
	/* Told again, it ends instead. */
	go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	agent(low);
	finish(low, 0);
	grant(800 * US);
	assert_int_equal(kernel_of(low, LEAVES)->preemptions, 1);
	assert_int_equal(kernel_of(low, LEAVES)->left, 2);
	assert_true(gs_step_usage_left_us(kernel_of(low, LEAVES), 0.50) == 60);
	assert_true(gs_step_usage_left_us(kernel_of(low, LEAVES), 0.99) == 800);
	assert_int_equal(kernel_of(high, LEAVES)->left, 0);
	all_leave(low, high);
}

/* Told before it had begun: what it took until it came and left again is the queue's. */
static void test_not_begun_has_no_latency(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join_with_kernels(1, 1);
	high = join_with_kernels(2, 10);
	launch_of(low, 0, LEAVES, 1000, 50 * MS, 0);
	gs_page_store(low->page->slot[0].started, 0);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	agent(low);
	grant(60 * US);
	agent(high);
	evicted(low, 0, 0);
	grant(1 * MS);
	assert_int_equal(kernel_of(low, LEAVES)->preemptions, 0);
	assert_int_equal(kernel_of(low, LEAVES)->left, 0);
	assert_int_equal(kernel_of(low, LEAVES)->time.gpu_ns, 0);
	all_leave(low, high);
}

static json_t *report_of(const struct client *c)
{
	struct gs_report_kernels_of of = { .job = 12, .step = "0", .usage = &c->usage };
	char *text = gs_report_kernels(&of, 1);
	json_t *all = json_loads(text, 0, NULL);

	assert_non_null(all);
	free(text);
	return all;
}

static double figure(const json_t *of, const char *key)
{
	assert_true(json_is_number(json_object_get(of, key)));
	return json_number_value(json_object_get(of, key));
}

/* A kernel that had 100 ms of work before and has little now. */
static void test_predictions_are_no_longer_than_the_time_that_passed(void **unused)
{
	struct client *c;
	json_t *all, *leaves;

	(void)unused;
	begin("piv");
	c = join_with_kernels(1, 1);
	launch_of(c, 0, LEAVES, 1000, 100 * MS, 0);
	grant(0);
	agent(c);
	finish(c, 0);
	grant(1 * MS);
	grant(50 * MS);
	for (int i = 0; i < 9; i++) {
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		launch_of(c, 0, LEAVES, 1000, 100 * MS, 0);
		if (i % 2)
			grant(1 * MS);
		finish(c, 0);
		grant(1 * MS);
	}
	all = report_of(c);
	leaves = json_array_get(json_object_get(all, "kernels"), 0);
	assert_true(figure(leaves, "gpu_ms") >= 13 && figure(leaves, "gpu_ms") <= 15);
	assert_in_range(c->usage.active_ns, 13 * MS, 15 * MS);
	json_decref(all);
	all_leave(c);
}

/* Those without a slot are as long as the last one that had one and stayed, and nobody could have
 * made them leave. */
static void test_what_could_not_be_preempted(void **unused)
{
	struct client *c;
	json_t *all, *leaves, *stays;

	(void)unused;
	begin("piv");
	c = join_with_kernels(1, 1);
	launch_of(c, 0, LEAVES, 1000, 30 * MS, 0);
	grant(29 * MS);
	finish(c, 0);
	grant(1 * MS);
	launch_of(c, 1, STAYS, 100, 2 * MS, 5);
	grant(1 * MS);
	finish(c, 1);
	grant(1 * MS);
	gs_gpu_client_untracked(c->gpu_client,
				&(struct gs_untracked) { .kernel = STAYS, .launches = 4 }, 1,
				now + 100 * MS);
	gs_gpu_client_launched(c->gpu_client, 92);
	all = report_of(c);
	leaves = json_array_get(json_object_get(all, "kernels"), 0);
	stays = json_array_get(json_object_get(all, "kernels"), 1);
	assert_true(figure(leaves, "gpu_ms") == 30 && figure(leaves, "unevictable_ms") == 0);
	assert_true(figure(leaves, "unevictable") == 0 && figure(leaves, "unevictable_pct") == 0);
	assert_true(figure(leaves, "task_ns") == 30000);
	assert_string_equal(json_string_value(json_object_get(leaves, "launch_reason")), "none");
	assert_true(figure(stays, "launches") == 5 && figure(stays, "unevictable") == 5);
	assert_true(figure(stays, "gpu_ms") == 10 && figure(stays, "unevictable_ms") == 10);
	assert_true(figure(stays, "unevictable_pct") == 100 && figure(stays, "task_ns") == 20000);
	assert_true(figure(stays, "registers") == 40);
	assert_string_equal(json_string_value(json_object_get(stays, "reason")), "none");
	assert_string_equal(json_string_value(json_object_get(stays, "launch_reason")),
			    gs_report_reason(5));
	stays = json_array_get(json_object_get(all, "jobs"), 0);
	assert_true(figure(stays, "job") == 12 && figure(stays, "launches") == 92);
	assert_true(figure(stays, "gpu_ms") == 40 && figure(stays, "unevictable_ms") == 10);
	assert_true(figure(stays, "unevictable_pct") == 25);
	assert_true(figure(json_object_get(all, "all"), "unevictable_pct") == 25);
	json_decref(all);
	all_leave(c);
}

/* Told of and seen, in whatever order, each launch counts once; more than can be is not believed.
 */
static void test_launches_that_are_told_of(void **unused)
{
	struct client *c;

	(void)unused;
	begin("piv");
	c = join_with_kernels(1, 1);
	launch_of(c, 0, STAYS, 100, 1 * MS, 5);
	grant(1 * MS);
	assert_int_equal(c->usage.launches, 1);
	gs_gpu_client_launched(c->gpu_client, 40);
	gs_gpu_client_launched(c->gpu_client, 40);
	gs_gpu_client_launched(c->gpu_client, 30);
	assert_int_equal(c->usage.launches, 40);
	finish(c, 0);
	grant(1 * MS);
	go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	c->seq = 37; /* it had its number before those were told of */
	launch_of(c, 0, STAYS, 100, 1 * MS, 5);
	grant(1 * MS);
	assert_int_equal(c->usage.launches, 40);
	finish(c, 0);
	grant(1 * MS);
	go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	c->seq = 49;
	launch_of(c, 0, STAYS, 100, 1 * MS, 5);
	grant(1 * MS);
	assert_int_equal(c->usage.launches, 50);
	gs_gpu_client_launched(c->gpu_client, 51);
	gs_gpu_client_launched(c->gpu_client, UINT64_MAX);
	gs_gpu_client_untracked(
		c->gpu_client,
		&(struct gs_untracked) { .kernel = UINT32_MAX, .launches = UINT32_MAX }, 1, now);
	assert_int_equal(c->usage.launches, 51);
	assert_int_equal(kernel_of(c, STAYS)->launches, 3);
	/* They have not taken longer than there was time. */
	gs_gpu_client_untracked(c->gpu_client,
				&(struct gs_untracked) { .kernel = STAYS, .launches = 1000 }, 1,
				now + 20 * MS);
	assert_int_equal(kernel_of(c, STAYS)->launches, 1003);
	assert_in_range(kernel_of(c, STAYS)->time.gpu_ns, 20 * MS, 24 * MS);
	finish(c, 0);
	grant(1 * MS);
	all_leave(c);
}

/* The sums of a job are those of its steps, also of kernels that are listed no more. */
static void test_sums(void **unused)
{
	struct gs_step_usage t[3] = { 0 };
	struct gs_report_kernels_of of[3] = { { 12, "0", &t[0] },
					      { 13, "0", &t[1] },
					      { 12, "1", &t[2] } };
	static struct gs_kernel_map map;
	json_t *all, *jobs;
	char *text;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		gs_step_usage_announce(&t[i], &map, 0, "a", 1, 0, 0);
		gs_step_usage_announce(&t[i], &map, 1, "b", 1, 0, 0);
		gs_step_usage_ran(&t[i], &t[i].kernel[0], 10 * MS, 1, 1);
		gs_step_usage_ran(&t[i], &t[i].kernel[1], 20 * MS, 2, i == 1);
		gs_step_usage_left(&t[i].kernel[1], 7 * US);
		gs_step_usage_trim(&t[i], 1);
	}
	text = gs_report_kernels(of, 3);
	all = json_loads(text, 0, NULL);
	free(text);
	assert_int_equal(json_array_size(json_object_get(all, "kernels")), 3);
	jobs = json_object_get(all, "jobs");
	assert_int_equal(json_array_size(jobs), 2);
	assert_true(figure(json_array_get(jobs, 0), "gpu_ms") == 60);
	assert_true(figure(json_array_get(jobs, 0), "unevictable") == 4);
	assert_true(figure(json_array_get(jobs, 0), "unevictable_pct") == 66.667);
	assert_true(figure(json_array_get(jobs, 0), "evictable_pct") == 33.333);
	assert_true(figure(json_array_get(jobs, 1), "evictable_pct") == 100);
	assert_true(figure(json_array_get(jobs, 1), "unevictable_pct") == 0);
	assert_true(figure(json_object_get(all, "all"), "unevictable_ms") == 40);
	json_decref(all);
	text = gs_report_kernels(of, 0);
	all = json_loads(text, 0, NULL);
	free(text);
	assert_true(figure(json_object_get(all, "all"), "unevictable_pct") == 0);
	assert_true(json_is_null(json_object_get(json_object_get(all, "all"), "evictable_pct")));
	json_decref(all);
	for (int i = 0; i < 3; i++)
		gs_step_usage_fini(&t[i]);
}

/* Of a kernel that several processes have, what one does not know takes nothing away. */
static void test_what_is_known_of_a_variant(void **unused)
{
	static struct gs_kernel_map map;
	struct gs_step_usage t = { 0 };
	struct gs_step_usage_variant is = { .made_of = 1,
					    .at_once = 8,
					    .since_s = 1700000000,
					    .written_ps = 1000,
					    .variant_ps = 1020,
					    .blocks = 20,
					    .block_ns = 7000 },
				     nothing = { 0 },
				     half = { .since_s = 1800000000, .variant_ps = 5 };
	const struct gs_step_usage_variant *v;

	(void)unused;
	gs_step_usage_announce(&t, &map, 3, "a", 2, 0, 0);
	v = &gs_step_usage_kernel(&t, &map, 3)->variant;
	assert_true(isnan(gs_step_usage_cost(v)) && isnan(gs_step_usage_waves(v)));
	gs_step_usage_variant(gs_step_usage_kernel(&t, &map, 3), &is);
	gs_step_usage_variant(gs_step_usage_kernel(&t, &map, 3), &nothing);
	gs_step_usage_variant(gs_step_usage_kernel(&t, &map, 3), &half);
	gs_step_usage_variant(gs_step_usage_kernel(&t, &map, 4), &is); /* nobody's number */
	assert_int_equal(v->made_of, 1);
	assert_int_equal(v->since_s, 1700000000);
	assert_int_equal(v->block_ns, 7000);
	assert_true(gs_step_usage_cost(v) == 1.02 && gs_step_usage_waves(v) == 2.5);
	is.made_of = 2;
	is.since_s = 1600000000;
	is.variant_ps = 1500;
	is.blocks = 4;
	gs_step_usage_variant(gs_step_usage_kernel(&t, &map, 3), &is);
	assert_int_equal(v->made_of, 2);
	assert_int_equal(v->since_s, 1600000000);
	assert_true(gs_step_usage_cost(v) == 1.5 && gs_step_usage_waves(v) == 0.5);
	gs_step_usage_fini(&t);
}

/* As many as are kept, the latest; and as many kernels as there may be. */
static void test_latencies_are_bounded(void **unused)
{
	struct gs_step_usage_kernel k = { .name = "k" };

	(void)unused;
	assert_true(gs_step_usage_left_us(&k, 0.50) == 0);
	for (unsigned i = 0; i < 3 * GS_STEP_USAGE_KERNEL_SAMPLES; i++)
		gs_step_usage_left(&k, (i < 2 * GS_STEP_USAGE_KERNEL_SAMPLES ? 1000 : 7) * US);
	assert_true(gs_step_usage_left_us(&k, 0.99) == 7);
	gs_step_usage_left(&k, UINT64_MAX);
	assert_true(gs_step_usage_left_us(&k, 1.0) == UINT32_MAX);
	free(k.sample_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_on_the_gpu),
		cmocka_unit_test(test_latency_of_a_kernel),
		cmocka_unit_test(test_not_begun_has_no_latency),
		cmocka_unit_test(test_predictions_are_no_longer_than_the_time_that_passed),
		cmocka_unit_test(test_what_could_not_be_preempted),
		cmocka_unit_test(test_launches_that_are_told_of),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_what_is_known_of_a_variant),
		cmocka_unit_test(test_latencies_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
