/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frs and frsp: small cases worked out by hand from FRS. */
#define _GNU_SOURCE
#include "policy_steps.h"

static void frs_serves_the_most_slowed_down(void **state)
{
	struct gs_sched *s = make("frs");
	uint64_t end;

	(void)state;
	arrive(s, 1, 100 * MS, 0, 1, 0);
	run(s, 0, 1);
	arrive(s, 2, 10 * MS, 0, 1, 10 * MS);
	/* Both have a slowdown of 1: the earlier keeps the GPU for a minimum quantum. */
	assert_int_equal(expect(s, 10 * MS, GS_ACT_KEEP, 1), 11 * MS);
	/* Now 2's is 1.1, 1's still 1: it would take 1 10 ms to come up to that. */
	evict(s, 11 * MS, 1);
	end = run(s, 11 * MS, 2);
	assert_in_range(end, 21 * MS - 1, 21 * MS + 1);
	gs_sched_destroy(s);
}

static void frs_ends_a_long_quantum_for_a_short_arrival(void **state)
{
	struct gs_sched *s = make("frs");
	uint64_t end;

	(void)state;
	arrive(s, 1, 1000 * MS, 0, 1, 0);
	arrive(s, 2, 1000 * MS, 0, 1, 0);
	run(s, 0, 1);
	gs_sched_leave(s, 1, 500 * MS, NULL);
	arrive(s, 3, 2000 * MS, 0, 1, 500 * MS);
	/* Slowdowns 1.5 and 1: 3 needs a second to come up. */
	end = run(s, 500 * MS, 2);
	assert_in_range(end, 1500 * MS - 1, 1500 * MS + 1);
	/* One of 4 ms needs 2 ms to come up to 1.5. */
	arrive(s, 4, 4 * MS, 0, 1, 600 * MS);
	end = expect(s, 600 * MS, GS_ACT_KEEP, 2);
	assert_in_range(end, 602 * MS - 1, 602 * MS + 1);
	evict(s, end + 1, 2);
	run(s, end + 1, 4);
	gs_sched_destroy(s);
}

/* Two long tasks that are slowed down alike do not take turns at the minimum quantum. */
static void frs_weighs_the_handover(void **state)
{
	struct gs_sched_options o;
	struct gs_sched *s;
	uint64_t end;

	(void)state;
	gs_sched_defaults(&o);
	o.handover_ns = MS;
	o.quantum_handovers = 10;
	s = gs_sched_create("frs", &o, 0, NULL);
	arrive(s, 1, 40 * MS, 0, 1, 0);
	arrive(s, 2, 40 * MS, 0, 1, 0);
	/* Half of ten hand-overs at least; an evicted one waits two more. */
	end = run(s, 0, 1);
	assert_int_equal(end, 5 * MS);
	end = expect(s, 5 * MS, GS_ACT_KEEP, 1);
	assert_int_equal(end, 10 * MS);
	evict(s, 10 * MS, 1);
	/* Behind by 10 ms, it stays until it is ahead by 7. */
	end = run(s, 11 * MS, 2);
	assert_in_range(end, 21 * MS - 1, 21 * MS + 1);
	end = expect(s, end + 1, GS_ACT_KEEP, 2);
	assert_in_range(end, 26 * MS, 26 * MS + 3);
	end = expect(s, end, GS_ACT_KEEP, 2);
	evict(s, end, 2);
	gs_sched_destroy(s);
	/* Where all are long, an eighth of the shortest, up to 100 hand-overs; a short one ends
	 * that. */
	s = gs_sched_create("frs", &o, 0, NULL);
	arrive(s, 1, 5000 * MS, 0, 1, 0);
	arrive(s, 2, 480 * MS, 0, 1, 0);
	assert_int_equal(run(s, 0, 1), 60 * MS);
	arrive(s, 3, 8 * MS, 0, 1, 10 * MS);
	assert_int_equal(expect(s, 10 * MS, GS_ACT_KEEP, 1), 15 * MS);
	gs_sched_destroy(s);
}

/* A little longer than it said, it is not sent to wait as the least slowed down. */
static void frs_lets_a_short_estimate_finish(void **state)
{
	struct gs_sched *s = make("frs");

	(void)state;
	arrive(s, 1, 10 * MS, 0, 1, 0);
	arrive(s, 2, 10 * MS, 0, 1, 0);
	run(s, 0, 1);
	gs_sched_leave(s, 1, 20 * MS, NULL);
	arrive(s, 3, 90 * MS, 0, 1, 20 * MS);
	/* 3 needs 180 ms to come up to 2's slowdown of 3: 2's own length ends its quantum, and a
	 * bit. */
	assert_int_equal(run(s, 20 * MS, 2), 31 * MS);
	gs_sched_destroy(s);
}

static void frs_weighs_by_shares(void **state)
{
	struct gs_sched *s = make("frs");

	(void)state;
	arrive(s, 1, 10 * MS, 0, 25, 0);
	arrive(s, 2, 10 * MS, 0, 75, 0);
	run(s, 0, 2);
	gs_sched_destroy(s);
	s = make("frs");
	arrive(s, 1, 10 * MS, 0, 50, 0);
	arrive(s, 2, 10 * MS, 0, 50, 0);
	run(s, 0, 1);
	gs_sched_destroy(s);
}

/* By FRS's words alone: an arrival leaves a quantum as it is, and who is even with another yields.
 */
static void frsp_goes_by_equation_2(void **state)
{
	struct gs_sched *s = make("frsp");
	uint64_t end;

	(void)state;
	arrive(s, 1, 1000 * MS, 0, 1, 0);
	arrive(s, 2, 1000 * MS, 0, 1, 0);
	assert_int_equal(run(s, 0, 1), MS);
	gs_sched_leave(s, 1, 500 * MS, NULL);
	arrive(s, 3, 2500 * MS, 0, 1, 500 * MS);
	/* Slowdowns 1.5 and 1: 3 would need 1,250 ms, which is not cut to what 2 says it needs. */
	end = run(s, 500 * MS, 2);
	assert_in_range(end, 1750 * MS - 1, 1750 * MS + 1);
	/* One of 4 ms would have come up to 1.5 at 602 ms. */
	arrive(s, 4, 4 * MS, 0, 1, 600 * MS);
	assert_int_equal(expect(s, 602 * MS, GS_ACT_KEEP, 2), end);
	gs_sched_leave(s, 2, 1500 * MS, NULL);
	end = run(s, 1500 * MS, 4);
	/* Slowdown 226, against 1.4 of 3. */
	assert_in_range(end, (1500 + 561500) * MS - 1, (1500 + 561500) * MS + 1);
	gs_sched_destroy(s);
}

static void frsp_does_not_weigh_the_handover(void **state)
{
	struct gs_sched_options o;
	struct gs_sched *s;
	uint64_t end;

	(void)state;
	gs_sched_defaults(&o);
	o.handover_ns = MS;
	o.quantum_handovers = 2;
	s = gs_sched_create("frsp", &o, 0, NULL);
	arrive(s, 1, 40 * MS, 0, 1, 0);
	arrive(s, 2, 40 * MS, 0, 1, 0);
	assert_int_equal(run(s, 0, 1), 2 * MS);
	evict(s, 2 * MS, 1);
	/* 43/40 against 41/40, then 43/40 against 44/40. */
	end = run(s, 3 * MS, 2);
	assert_in_range(end, 5 * MS - 1, 5 * MS + 1);
	evict(s, 6 * MS, 2);
	run(s, 7 * MS, 1);
	gs_sched_destroy(s);
}

static void frsp_weighs_by_shares(void **state)
{
	static const uint32_t shares[][2] = { { 1, 1 }, { 50, 50 }, { 25, 75 } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct gs_sched *s = make("frsp");
		uint64_t end;

		arrive(s, 1, 10 * MS, 0, shares[i][0], 0);
		arrive(s, 2, 100 * MS, 0, shares[i][1], 0);
		end = run(s, 0, i < 2 ? 1 : 2);
		if (i < 2) {
			/* Equal shares are none: 1 ms, then 1's slowdown stays 1 and 2's is 1.01.
			 */
			assert_int_equal(end, MS);
			evict(s, MS, 1);
			end = run(s, MS, 2);
			assert_int_equal(end, 2 * MS);
		} else {
			/* 3 times the weight: until 1's slowdown is 3. */
			assert_in_range(end, 20 * MS - 1, 20 * MS + 1);
		}
		gs_sched_destroy(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frs_serves_the_most_slowed_down),
		cmocka_unit_test(frs_ends_a_long_quantum_for_a_short_arrival),
		cmocka_unit_test(frs_weighs_the_handover),
		cmocka_unit_test(frs_lets_a_short_estimate_finish),
		cmocka_unit_test(frs_weighs_by_shares),
		cmocka_unit_test(frsp_goes_by_equation_2),
		cmocka_unit_test(frsp_does_not_weigh_the_handover),
		cmocka_unit_test(frsp_weighs_by_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
