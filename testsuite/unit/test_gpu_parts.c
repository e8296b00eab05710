/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is booked as time with the GPU while several clients compute on it (arbiter/usage.h). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "sharing_rig.h"
#include "gpushare/arbiter/account.h"
#include "gpushare/arbiter/gpu_core.h"

/* 100 ms, with a step in each. */
static void pass_100_ms(void)
{
	for (int i = 0; i < 100; i++)
		grant(MS);
	gs_gpu_settle(gpu, now);
}

/* To within two steps. */
static void assert_had(const struct client *c, uint64_t active_ms, uint64_t waiting_ms)
{
	assert_in_range(c->usage.active_ns + 2 * MS, active_ms * MS, (active_ms + 4) * MS);
	assert_in_range(c->usage.waiting_ns + 2 * MS, waiting_ms * MS, (waiting_ms + 4) * MS);
	assert_in_range(c->usage.turnaround_ns + 2 * MS, c->usage.active_ns + c->usage.waiting_ns,
			c->usage.active_ns + c->usage.waiting_ns + 4 * MS);
}

static void equals_had_half_of_the_time_slices(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_sharing("frs", 0);
	a = running(1, 5, AS_IS, 0);
	b = running(2, 5, AS_IS, 0);
	pass_100_ms();
	assert_had(a, 50, 50);
	assert_had(b, 50, 50);
	finish(b, 0);
	grant(MS);
	pass_100_ms();
	assert_had(a, 150, 51);
	assert_had(b, 50, 51);
	all_leave(a, b);
}

/* They would share the GPU without others, too. */
static void own_processes_do_not_slow_a_step_down(void **unused)
{
	struct client *a, *b, *other;

	(void)unused;
	begin_sharing("frs", 0);
	a = running(1, 5, AS_IS, 0);
	b = requests(2, 5, AS_IS, 0);
	b->gpu_client->p.usage = &a->usage;
	grant(US);
	pass_100_ms();
	assert_had(a, 100, 0);
	other = running(3, 5, AS_IS, 0);
	pass_100_ms();
	/* two of three time slices, and one of them */
	assert_had(a, 100 + 66, 33);
	assert_had(other, 33, 66);
	all_leave(b, a, other); /* b's usage is in a */
}

/* Its kernels compute in the time slices that the driver gives them. */
static void who_stays_beside_a_more_urgent_one_had_half(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, AS_IS, 0);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	agent(high);
	pass_100_ms();
	assert_false(has_turn(low));
	assert_had(low, 50, 50);
	assert_had(high, 50, 50);
	all_leave(low, high);
}

static void who_left_had_nothing(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("piv", 0);
	low = running(1, 1, 1, SOON);
	high = requests(2, 10, 1, SOON);
	grant(US);
	evicted(low, 0, 10);
	grant(US);
	agent(high);
	pass_100_ms();
	assert_had(low, 0, 100);
	assert_had(high, 100, 0);
	all_leave(low, high);
}

/* The wait is booked as it gets the GPU, and the kernel ends before the next poll. */
static void a_kernel_after_a_wait_is_booked(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("piv", 0);
	high = running(1, 10, 1, SOON);
	low = requests(2, 1, 1, SOON);
	for (int i = 0; i < 10; i++)
		grant(MS);
	finish(high, 0);
	for (int i = 0; i < 10 && !has_turn(low); i++)
		grant(MS);
	assert_true(has_turn(low));
	agent(low);
	finish(low, 0);
	grant(5 * MS);
	gs_gpu_settle(gpu, now);
	assert_had(low, 5, 11);
	all_leave(low, high);
}

/* Kernels compute beside each other there, so a part would be a guess. */
static void under_mps_all_had_all_of_it(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_sharing("frs", 1);
	a = join(1, 5);
	launch_leaving(a, 0, AS_IS, 0, 100 * US);
	b = join(2, 5);
	launch_leaving(b, 0, AS_IS, 0, 100 * US);
	grant(0);
	agent(a);
	agent(b);
	pass_100_ms();
	assert_had(a, 100, 0);
	assert_had(b, 100, 0);
	all_leave(a, b);
}

/* A launch with a slot, 1 ms long, that reports so much of launches without. */
static void report(struct client *c, uint64_t untracked_ns)
{
	go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch_leaving(c, 0, AS_IS, untracked_ns, MS);
	finish(c, 0);
	grant(MS);
}

/* The slots tell of them every 128 ms, messages when the program ends; polls are every 20 ms. */
static void launches_without_slots_had_the_gpu(void **unused)
{
	const struct gs_untracked told = { .kernel = 0, .launches = 60 };
	struct client *c;

	(void)unused;
	begin_sharing("frs", 0);
	c = running(1, 5, AS_IS, 0);
	finish(c, 0);
	grant(MS);
	c->usage.active_ns = c->usage.turnaround_ns = 0;
	for (int i = 0; i < 10; i++) {
		for (int ms = 0; ms < 100; ms += 20)
			grant(20 * MS);
		report(c, i < 8 ? 80 * MS : 200 * MS); /* more than there was time for */
	}
	assert_in_range(c->usage.active_ns, 8 * 81 * MS, (8 * 81 + 2 * 101 + 190) * MS);
	assert_int_equal(c->usage.waiting_ns, 0);
	all_leave(c);

	begin_sharing("frs", 0);
	c = running(1, 5, AS_IS, 0);
	finish(c, 0);
	grant(MS);
	c->usage.active_ns = c->usage.turnaround_ns = 0;
	for (int ms = 0; ms < 100; ms += 20)
		grant(20 * MS);
	gs_step_usage_announce(&c->usage, &c->map, 0, "k", 0, 0, 0);
	gs_step_usage_kernel(&c->usage, &c->map, 0)->as_is_ns = MS;
	gs_gpu_client_untracked(c->gpu_client, &told, 1, now);
	assert_int_equal(c->usage.active_ns, 60 * MS);
	/* A slot reports the same ones. */
	report(c, 60 * MS);
	assert_in_range(c->usage.active_ns, 60 * MS, 62 * MS);
	all_leave(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_had_half_of_the_time_slices),
		cmocka_unit_test(own_processes_do_not_slow_a_step_down),
		cmocka_unit_test(who_stays_beside_a_more_urgent_one_had_half),
		cmocka_unit_test(who_left_had_nothing),
		cmocka_unit_test(a_kernel_after_a_wait_is_booked),
		cmocka_unit_test(under_mps_all_had_all_of_it),
		cmocka_unit_test(launches_without_slots_had_the_gpu),
	};

	return cmocka_run_group_tests_name("gpu_parts", tests, NULL, NULL);
}
