/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each policy is: small cases worked out by hand from the papers. */
#define _GNU_SOURCE
#include "policy_steps.h"

static void fifo_never_preempts(void **state)
{
	struct gs_sched *s = make("fifo");

	(void)state;
	arrive(s, 1, 100 * MS, 0, 1, 0);
	arrive(s, 2, 1 * MS, 99, 1, 0);
	assert_int_equal(run(s, 0, 1), UINT64_MAX);
	arrive(s, 3, 1 * MS, 99, 1, 50 * MS);
	expect(s, 99 * MS, GS_ACT_KEEP, 1);
	gs_sched_leave(s, 1, 100 * MS, NULL);
	run(s, 100 * MS, 2);
	gs_sched_destroy(s);
}

static void piv_evicts_for_a_higher_priority_only(void **state)
{
	struct gs_sched *s = make("piv");

	(void)state;
	arrive(s, 1, 100 * MS, 5, 1, 0);
	run(s, 0, 1);
	arrive(s, 2, 1 * MS, 5, 1, MS);
	arrive(s, 3, 1 * MS, 4, 1, MS);
	expect(s, MS, GS_ACT_KEEP, 1);
	arrive(s, 4, 1 * MS, 6, 1, 2 * MS);
	evict(s, 2 * MS, 1);
	run(s, 2 * MS, 4);
	gs_sched_leave(s, 4, 3 * MS, NULL);
	/* Equal priorities: the earlier arrival, evicted or not. */
	run(s, 3 * MS, 1);
	gs_sched_leave(s, 1, 4 * MS, NULL);
	run(s, 4 * MS, 2);
	gs_sched_leave(s, 2, 5 * MS, NULL);
	run(s, 5 * MS, 3);
	gs_sched_destroy(s);
}

static void sjf_and_srt_differ_in_what_is_left(void **state)
{
	static const char *const name[] = { "sjf", "srt" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gs_sched *s = make(name[i]);

		arrive(s, 1, 10 * MS, 0, 1, 0);
		run(s, 0, 1);
		arrive(s, 2, 11 * MS, 0, 1, MS);
		expect(s, MS, GS_ACT_KEEP, 1);
		/* 2 ms are left of the 10 when one of 5 ms arrives. */
		arrive(s, 3, 5 * MS, 0, 1, 8 * MS);
		if (i == 0) {
			evict(s, 8 * MS, 1);
			run(s, 8 * MS, 3);
		} else {
			expect(s, 8 * MS, GS_ACT_KEEP, 1);
			arrive(s, 4, 1 * MS, 0, 1, 8 * MS);
			evict(s, 8 * MS, 1);
			run(s, 8 * MS, 4);
			gs_sched_leave(s, 4, 9 * MS, NULL);
			run(s, 9 * MS, 1);
		}
		gs_sched_destroy(s);
	}
}

static void srt_learns_of_progress(void **state)
{
	struct gs_sched *s = make("srt");

	(void)state;
	arrive(s, 1, 10 * MS, 0, 1, 0);
	arrive(s, 2, 8 * MS, 0, 1, 0);
	expect(s, 0, GS_ACT_RUN, 2);
	/* 30 of 100 block-tasks done: 7 ms are left. */
	gs_sched_progress(s, 1, 100, 30, 10 * MS, 0);
	expect(s, 0, GS_ACT_RUN, 1);
	/* Launched more: 200 block-tasks, 20 ms. */
	gs_sched_progress(s, 1, 200, 30, 20 * MS, 0);
	expect(s, 0, GS_ACT_RUN, 2);
	gs_sched_destroy(s);
}

static void unknown_lengths_are_estimated(void **state)
{
	struct gs_sched *s = make("sjf");

	(void)state;
	arrive(s, 1, 0, 0, 1, 0);
	arrive(s, 2, 3 * MS, 0, 1, 0);
	/* Nothing is known: a minimum quantum. */
	run(s, 0, 1);
	gs_sched_stopped(s, 1, 2 * MS);
	/* It ran 2 ms, so 4 ms are the guess. */
	expect(s, 2 * MS, GS_ACT_RUN, 2);
	/* 80 of 100 block-tasks took them: 2.5 ms. */
	gs_sched_progress(s, 1, 100, 80, 0, 2 * MS);
	expect(s, 2 * MS, GS_ACT_RUN, 1);
	gs_sched_destroy(s);
}

static void rr_takes_turns(void **state)
{
	struct gs_sched *s = make("rr");
	uint64_t now = 0;

	(void)state;
	for (uint64_t id = 1; id <= 3; id++)
		arrive(s, id, 10 * MS, 0, 1, 0);
	for (int round = 0; round < 2; round++)
		for (uint64_t id = 1; id <= 3; id++, now += MS) {
			assert_int_equal(run(s, now, id), now + MS);
			evict(s, now + MS, id);
		}
	/* A newcomer goes behind those who wait, before the one who runs. */
	run(s, now, 1);
	arrive(s, 4, MS, 0, 1, now);
	evict(s, now + MS, 1);
	run(s, now + MS, 2);
	evict(s, now + 2 * MS, 2);
	run(s, now + 2 * MS, 3);
	evict(s, now + 3 * MS, 3);
	run(s, now + 3 * MS, 4);
	gs_sched_destroy(s);
}

/* Where hand-overs make the quantum, 15 of 0.2 ms, nobody goes for half as long again. */
static void who_is_all_but_done_stays(void **state)
{
	static const struct {
		const char *policy;
		uint64_t length, until; /* us */
	} as[] = {
		{ "rr", 4500, 4600 },  { "rr", 4501, 3000 },   { "rr", 2900, 3000 },
		{ "cfs", 4500, 4600 }, { "dprr", 4500, 4600 }, { "frsp", 4500, 3000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(as) / sizeof(as[0]); i++) {
		struct gs_sched_options o;
		struct gs_sched *s;

		gs_sched_defaults(&o);
		o.handover_ns = MS / 5;
		o.quantum_handovers = 15;
		s = gs_sched_create(as[i].policy, &o, 0, NULL);
		assert_non_null(s);
		arrive(s, 1, as[i].length * 1000, 0, 1, 0);
		arrive(s, 2, 10 * MS, 0, 1, 0);
		assert_int_equal(run(s, 0, 1), as[i].until * 1000);
		/* An estimate: who is not done then goes all the same. */
		evict(s, as[i].until * 1000, 1);
		gs_sched_destroy(s);
	}
}

static void the_only_task_is_never_handed_over(void **state)
{
	static const char *const name[] = { "rr", "cfs", "frs", "frsp", "dprr" };

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct gs_sched *s = make(name[i]);

		arrive(s, 1, 100 * MS, 3, 1, 0);
		run(s, 0, 1);
		for (uint64_t t = 0; t < 50 * MS; t += MS)
			expect(s, t, GS_ACT_KEEP, 1);
		gs_sched_destroy(s);
	}
}

static void cfs_divides_its_epoch(void **state)
{
	struct gs_sched *s = make("cfs");

	(void)state;
	for (uint64_t id = 1; id <= 4; id++)
		arrive(s, id, 10 * MS, 0, 1, 0);
	assert_int_equal(run(s, 0, 1), MS);
	/* Of the next epoch: its five share 4 ms, whoever waited longest first. */
	arrive(s, 5, 10 * MS, 0, 1, MS / 2);
	evict(s, MS, 1);
	for (uint64_t id = 2; id <= 4; id++) {
		assert_int_equal(run(s, (id - 1) * MS, id), id * MS);
		evict(s, id * MS, id);
	}
	assert_int_equal(run(s, 4 * MS, 5), 4 * MS + 4 * MS / 5);
	evict(s, 5 * MS, 5);
	run(s, 5 * MS, 1);
	gs_sched_destroy(s);
}

/* Of many, each still gets a sixteenth of the epoch, which is so much longer. */
static void cfs_has_a_least_quantum(void **state)
{
	struct gs_sched *s = make("cfs");
	uint64_t now = 0;

	(void)state;
	for (uint64_t id = 1; id <= 40; id++)
		arrive(s, id, 10 * MS, 0, 1, 0);
	for (uint64_t id = 1; id <= 40; id++) {
		assert_int_equal(run(s, now, id), now + MS / 4);
		now += MS / 4;
		evict(s, now, id);
	}
	gs_sched_destroy(s);
}

/* Task 1 says that it needs 1 ns and never finishes; task 2 needs ten seconds. */
static void a_liar_does_not_keep_the_gpu(void **state)
{
	static const char *const name[] = { "frs", "rr", "cfs" };

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct gs_sched *s;
		struct gs_sched_options o;
		struct gs_task_stats st;
		struct gs_decision d;
		uint64_t now = 0;

		gs_sched_defaults(&o);
		/* What frs allows for a hand-over helps it no further. */
		o.handover_ns = i < 3 ? 0 : MS;
		s = gs_sched_create(name[i % 3], &o, 0, NULL);
		arrive(s, 2, 10000 * MS, 0, 1, 0);
		arrive(s, 1, 1, 0, 1, 0);
		while (now < 5000 * MS) {
			gs_sched_decide(s, now, &d);
			if (d.action == GS_ACT_RUN)
				gs_sched_started(s, d.task, now);
			else if (d.action == GS_ACT_EVICT)
				gs_sched_stopped(s, d.task, now);
			else
				now = d.deadline_ns;
		}
		gs_sched_stats(s, 2, now, &st);
		assert_true(st.ran_ns > 1250 * MS);
		gs_sched_destroy(s);
	}
}

static void srt_lets_an_overrun_count(void **state)
{
	struct gs_sched *s = make("srt");

	(void)state;
	arrive(s, 1, 1, 0, 1, 0);
	run(s, 0, 1);
	arrive(s, 2, 50 * MS, 0, 1, 20 * MS);
	expect(s, 20 * MS, GS_ACT_KEEP, 1);
	arrive(s, 3, 70 * MS, 0, 1, 60 * MS);
	evict(s, 60 * MS, 1);
	run(s, 60 * MS, 2);
	gs_sched_destroy(s);
}

static void dprr_slices_by_priority_and_swaps_queues(void **state)
{
	struct gs_sched *s = make("dprr");

	(void)state;
	arrive(s, 1, 100 * MS, 1, 1, 0);
	arrive(s, 2, 100 * MS, 9, 1, 0);
	/* (9 + 1)/2 ms, then the inactive queue: the low one is alone in the active. */
	assert_int_equal(run(s, 0, 2), 5 * MS);
	evict(s, 5 * MS, 2);
	assert_int_equal(run(s, 5 * MS, 1), 6 * MS);
	/* Both are inactive then, the queues change places and the higher is back. */
	evict(s, 6 * MS, 1);
	assert_int_equal(run(s, 6 * MS, 2), 11 * MS);
	/* An arrival is active: it goes before those who have had their slice. */
	arrive(s, 3, 100 * MS, 0, 1, 7 * MS);
	evict(s, 11 * MS, 2);
	/* 1 has waited for 5 ms in the active queue: 1 + 5 against 0 + 4. */
	run(s, 11 * MS, 1);
	evict(s, 12 * MS, 1);
	run(s, 12 * MS, 3);
	gs_sched_destroy(s);
}

static void dprr_rises_by_twenty_at_most(void **state)
{
	struct gs_sched *s = make("dprr");

	(void)state;
	arrive(s, 1, 500 * MS, 100, 1, 0);
	run(s, 0, 1);
	arrive(s, 2, 5 * MS, 10, 1, 0);
	arrive(s, 3, 5 * MS, 31, 1, 49 * MS);
	evict(s, 51 * MS, 1);
	/* 10 + 20 against 31 + 2. */
	run(s, 51 * MS, 3);
	gs_sched_leave(s, 3, 52 * MS, NULL);
	run(s, 52 * MS, 2);
	gs_sched_destroy(s);
}

/* Arrives at `now` and is due so much later; 0: never. */
static void arrive_due(struct gs_sched *s, uint64_t id, uint64_t now, uint64_t deadline)
{
	const struct gs_task_params p = { .nt = 100,
					  .shares = 1,
					  .due_ns = deadline ? now + deadline : 0 };

	assert_int_equal(gs_sched_arrive(s, id, &p, now, NULL), 0);
}

static void edf_runs_what_is_due_first(void **state)
{
	struct gs_sched *s = make("edf");

	(void)state;
	arrive_due(s, 1, 0, 20 * MS);
	assert_int_equal(run(s, 0, 1), UINT64_MAX);
	/* Due at 21 and, as early as the holder, at 20: neither evicts it. */
	arrive_due(s, 2, MS, 20 * MS);
	arrive_due(s, 3, 5 * MS, 15 * MS);
	expect(s, 5 * MS, GS_ACT_KEEP, 1);
	arrive_due(s, 4, 6 * MS, 10 * MS);
	evict(s, 6 * MS, 1);
	run(s, 6 * MS, 4);
	gs_sched_leave(s, 4, 8 * MS, NULL);
	run(s, 8 * MS, 1); /* the earlier arrival of the two that are due at 20 */
	gs_sched_leave(s, 1, 9 * MS, NULL);
	run(s, 9 * MS, 3);
	gs_sched_leave(s, 3, 10 * MS, NULL);
	run(s, 10 * MS, 2);
	gs_sched_destroy(s);
}

static void edf_finishes_what_is_late_first(void **state)
{
	struct gs_sched *s = make("edf");

	(void)state;
	arrive_due(s, 1, 0, 5 * MS);
	run(s, 0, 1);
	arrive_due(s, 2, 10 * MS, 2 * MS); /* due at 12, task 1 was at 5 */
	expect(s, 10 * MS, GS_ACT_KEEP, 1);
	expect(s, 50 * MS, GS_ACT_KEEP, 1);
	gs_sched_leave(s, 1, 51 * MS, NULL);
	run(s, 51 * MS, 2);
	gs_sched_destroy(s);
}

static void edf_puts_those_without_a_deadline_last(void **state)
{
	struct gs_sched *s = make("edf");

	(void)state;
	arrive_due(s, 1, 0, 0);
	arrive_due(s, 2, 0, 0);
	run(s, 0, 1);
	arrive_due(s, 3, MS, 3600 * GS_NS_PER_S);
	evict(s, MS, 1);
	run(s, MS, 3);
	gs_sched_leave(s, 3, 2 * MS, NULL);
	run(s, 2 * MS, 1); /* in order of arrival */
	expect(s, 500 * MS, GS_ACT_KEEP, 1);
	gs_sched_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifo_never_preempts),
		cmocka_unit_test(piv_evicts_for_a_higher_priority_only),
		cmocka_unit_test(sjf_and_srt_differ_in_what_is_left),
		cmocka_unit_test(srt_learns_of_progress),
		cmocka_unit_test(unknown_lengths_are_estimated),
		cmocka_unit_test(rr_takes_turns),
		cmocka_unit_test(who_is_all_but_done_stays),
		cmocka_unit_test(the_only_task_is_never_handed_over),
		cmocka_unit_test(cfs_divides_its_epoch),
		cmocka_unit_test(cfs_has_a_least_quantum),
		cmocka_unit_test(a_liar_does_not_keep_the_gpu),
		cmocka_unit_test(srt_lets_an_overrun_count),
		cmocka_unit_test(dprr_slices_by_priority_and_swaps_queues),
		cmocka_unit_test(dprr_rises_by_twenty_at_most),
		cmocka_unit_test(edf_runs_what_is_due_first),
		cmocka_unit_test(edf_finishes_what_is_late_first),
		cmocka_unit_test(edf_puts_those_without_a_deadline_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
