/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler's core: its contract with the caller, and its guard against policies. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "common/clock.h"
#include "gpushare/sched/policy.h"
#include "gpushare/sched/sched.h"

#define MS GS_NS_PER_MS

static struct gs_sched *make(const char *policy)
{
	struct gs_sched_options o;
	struct gs_sched *s;
	struct gs_error err;

	gs_sched_defaults(&o);
	s = gs_sched_create(policy, &o, 0, &err);
	assert_non_null(s);
	return s;
}

static void arrive(struct gs_sched *s, uint64_t id, uint64_t alone, int priority, uint64_t now)
{
	struct gs_task_params p = {
		.nt = 100, .alone_ns = alone, .priority = priority, .shares = 1
	};
	struct gs_error err;

	if (gs_sched_arrive(s, id, &p, now, &err) < 0)
		fail_msg("%s", err.text);
}

/* Decide, and insist on the action and the task. */
static uint64_t expect(struct gs_sched *s, uint64_t now, enum gs_action action, uint64_t task)
{
	struct gs_decision d;

	gs_sched_decide(s, now, &d);
	assert_int_equal(d.action, action);
	if (action != GS_ACT_IDLE)
		assert_int_equal(d.task, task);
	return d.deadline_ns;
}

static void run(struct gs_sched *s, uint64_t now, uint64_t task)
{
	expect(s, now, GS_ACT_RUN, task);
	gs_sched_started(s, task, now);
}

static void evict(struct gs_sched *s, uint64_t now, uint64_t task)
{
	expect(s, now, GS_ACT_EVICT, task);
	gs_sched_stopped(s, task, now);
}

static void one_task_life(void **state)
{
	struct gs_sched *s = make("fifo");
	struct gs_task_stats st;

	(void)state;
	assert_int_equal(expect(s, 0, GS_ACT_IDLE, 0), UINT64_MAX);
	arrive(s, 7, 5 * MS, 0, 10);
	run(s, 30, 7);
	assert_int_equal(expect(s, 30, GS_ACT_KEEP, 7), UINT64_MAX);
	assert_int_equal(gs_sched_stats(s, 7, 130, &st), 0);
	assert_int_equal(st.arrival_ns, 10);
	assert_int_equal(st.start_ns, 30);
	assert_int_equal(st.waited_ns, 20);
	assert_int_equal(st.ran_ns, 100);
	gs_sched_stopped(s, 7, 230);
	run(s, 330, 7);
	gs_sched_leave(s, 7, 430, &st);
	assert_int_equal(st.ran_ns, 300);
	assert_int_equal(st.waited_ns, 120);
	assert_int_equal(st.preemptions, 1);
	assert_int_equal(gs_sched_count(s), 0);
	assert_int_equal(gs_sched_stats(s, 7, 430, &st), -1);
	expect(s, 430, GS_ACT_IDLE, 0);
	gs_sched_destroy(s);
	gs_sched_destroy(NULL);
}

static void bad_arguments(void **state)
{
	struct gs_sched *s = make("piv");
	struct gs_task_params p = { .nt = 1, .shares = 1 };
	struct gs_sched_options o;
	struct gs_task_stats st;
	struct gs_error err;

	(void)state;
	gs_sched_defaults(&o);
	assert_null(gs_sched_create("lottery", &o, 0, &err));
	assert_non_null(strstr(err.text, "'lottery' is not a policy: choose one of fifo "));
	o.rr_quantum_ns = 0;
	assert_null(gs_sched_create("rr", &o, 0, &err));
	gs_sched_defaults(&o);
	o.handover_ns = UINT64_MAX;
	assert_null(gs_sched_create("rr", &o, 0, &err));
	assert_int_equal(gs_sched_set_policy(s, "lottery", 0, &err), -1);
	assert_string_equal(gs_sched_policy(s), "piv");
	assert_int_equal(gs_sched_arrive(s, 1, &p, 0, &err), 0);
	assert_int_equal(gs_sched_arrive(s, 1, &p, 0, &err), -1);
	p.nt = 0;
	assert_int_equal(gs_sched_arrive(s, 2, &p, 0, &err), -1);
	p.nt = 1;
	p.shares = 0;
	assert_int_equal(gs_sched_arrive(s, 2, &p, 0, &err), -1);
	assert_int_equal(gs_sched_count(s), 1);
	/* Unknown ids are ignored, and so is who stops without holding the GPU. */
	gs_sched_progress(s, 9, 1, 1, 1, 0);
	gs_sched_started(s, 9, 0);
	gs_sched_stopped(s, 9, 0);
	gs_sched_stopped(s, 1, 0);
	gs_sched_leave(s, 9, 0, &st);
	assert_int_equal(st.ran_ns, 0);
	expect(s, 0, GS_ACT_RUN, 1);
	gs_sched_destroy(s);
}

static void time_never_runs_backwards(void **state)
{
	struct gs_sched *s = make("rr");
	struct gs_task_stats st;

	(void)state;
	arrive(s, 1, 5 * MS, 0, 100 * MS);
	arrive(s, 2, 5 * MS, 0, 100 * MS);
	run(s, 100 * MS, 1);
	assert_int_equal(expect(s, 5 * MS, GS_ACT_KEEP, 1), 101 * MS);
	gs_sched_stats(s, 1, 7, &st);
	assert_int_equal(st.ran_ns, 0);
	gs_sched_leave(s, 1, 50 * MS, &st);
	assert_int_equal(st.ran_ns, 0);
	gs_sched_destroy(s);
}

static void an_eviction_is_remembered(void **state)
{
	struct gs_sched *s = make("piv");

	(void)state;
	arrive(s, 1, 50 * MS, 1, 0);
	run(s, 0, 1);
	arrive(s, 2, 5 * MS, 9, MS);
	expect(s, MS, GS_ACT_EVICT, 1);
	expect(s, MS, GS_ACT_EVICT, 1);
	/* Even when the reason has gone: the kernel was told to leave and will. */
	gs_sched_leave(s, 2, MS, NULL);
	expect(s, 2 * MS, GS_ACT_EVICT, 1);
	gs_sched_stopped(s, 1, 2 * MS);
	run(s, 2 * MS, 1);
	gs_sched_destroy(s);
}

static void who_starts_is_the_callers_to_say(void **state)
{
	struct gs_sched *s = make("fifo");
	struct gs_task_stats st;

	(void)state;
	arrive(s, 1, 5 * MS, 0, 0);
	arrive(s, 2, 5 * MS, 0, 0);
	expect(s, 0, GS_ACT_RUN, 1);
	gs_sched_started(s, 2, 0);
	expect(s, 0, GS_ACT_KEEP, 2);
	gs_sched_started(s, 1, MS);
	expect(s, MS, GS_ACT_KEEP, 1);
	gs_sched_stats(s, 2, MS, &st);
	assert_int_equal(st.preemptions, 1);
	assert_int_equal(st.ran_ns, MS);
	gs_sched_destroy(s);
}

static void quanta_cover_the_handover(void **state)
{
	struct gs_sched_options o;
	struct gs_sched *s;

	(void)state;
	gs_sched_defaults(&o);
	o.handover_ns = 2 * MS;
	s = gs_sched_create("rr", &o, 0, NULL);
	arrive(s, 1, 50 * MS, 0, 0);
	arrive(s, 2, 50 * MS, 0, 0);
	run(s, 0, 1);
	assert_int_equal(expect(s, 0, GS_ACT_KEEP, 1), 8 * MS);
	gs_sched_destroy(s);
}

static void the_starved_get_a_slice(void **state)
{
	struct gs_sched_options o;
	struct gs_sched *s;

	(void)state;
	gs_sched_defaults(&o);
	o.starvation_ns = 20 * MS;
	s = gs_sched_create("piv", &o, 0, NULL);
	arrive(s, 1, 500 * MS, 9, 0);
	run(s, 0, 1);
	arrive(s, 2, 500 * MS, 1, 5 * MS);
	assert_int_equal(expect(s, 5 * MS, GS_ACT_KEEP, 1), 25 * MS);
	expect(s, 25 * MS - 1, GS_ACT_KEEP, 1);
	evict(s, 25 * MS, 1);
	run(s, 25 * MS, 2);
	/* The higher priority is back only after the slice, an arrival too. */
	arrive(s, 3, MS, 50, 25 * MS + 1);
	assert_int_equal(expect(s, 25 * MS + 1, GS_ACT_KEEP, 2), 26 * MS);
	evict(s, 26 * MS, 2);
	run(s, 26 * MS, 3);
	gs_sched_destroy(s);
}

static void policies_are_exchanged_live(void **state)
{
	struct gs_sched *s = make("fifo");
	struct gs_task_stats st;
	struct gs_error err;

	(void)state;
	arrive(s, 1, 90 * MS, 0, 0);
	run(s, 0, 1);
	arrive(s, 2, 5 * MS, 3, MS);
	arrive(s, 3, 1 * MS, 2, MS);
	expect(s, MS, GS_ACT_KEEP, 1);
	assert_int_equal(gs_sched_set_policy(s, "piv", 2 * MS, &err), 0);
	evict(s, 2 * MS, 1);
	expect(s, 2 * MS, GS_ACT_RUN, 2);
	gs_sched_set_policy(s, "sjf", 3 * MS, &err);
	expect(s, 3 * MS, GS_ACT_RUN, 3);
	gs_sched_stats(s, 1, 3 * MS, &st);
	assert_int_equal(st.ran_ns, 2 * MS);
	assert_int_equal(st.arrival_ns, 0);
	for (size_t i = 0; gs_sched_policy_name(i); i++) {
		assert_int_equal(gs_sched_set_policy(s, gs_sched_policy_name(i), 4 * MS, &err), 0);
		assert_string_equal(gs_sched_policy(s), gs_sched_policy_name(i));
	}
	assert_int_equal(gs_sched_count(s), 3);
	gs_sched_destroy(s);
}

/* Policies that break their contract. */
static uint64_t pick_nobody(struct gs_view *view)
{
	(void)view;
	return 999;
}

static void place_nowhere(const struct gs_view *view, const struct gs_task *task,
			  struct gs_entry *entry)
{
	(void)view;
	entry->key.rank = task->id == 2 ? NAN : -(double)task->id;
}

static uint64_t no_time(struct gs_view *view, const struct gs_task *task)
{
	(void)view;
	(void)task;
	return 0;
}

static struct gs_sched *under(const struct gs_policy *policy)
{
	struct gs_sched_options o;
	struct gs_sched *s;

	gs_sched_defaults(&o);
	s = gs_sched_create_under(policy, &o, 0, NULL);
	assert_non_null(s);
	return s;
}

static void a_bad_pick_falls_back_to_fifo(void **state)
{
	static const struct gs_policy bad = { .name = "bad", .pick = pick_nobody };
	struct gs_sched *s = under(&bad);
	struct gs_sched_class_status is;

	(void)state;
	arrive(s, 1, MS, 0, 0);
	arrive(s, 2, MS, 0, 0);
	assert_int_equal(gs_sched_faults(s), 0);
	expect(s, 0, GS_ACT_RUN, 1);
	assert_int_equal(gs_sched_faults(s), 1);
	assert_string_equal(gs_sched_policy(s), "fifo");
	expect(s, 0, GS_ACT_RUN, 1);
	assert_int_equal(gs_sched_faults(s), 1);
	/* Until somebody says what shall decide, if only fifo again. */
	gs_sched_class_status(s, 0, &is);
	assert_string_equal(is.broke, "bad");
	assert_int_equal(gs_sched_set_policy(s, "fifo", 0, NULL), 0);
	gs_sched_class_status(s, 0, &is);
	assert_null(is.broke);
	assert_int_equal(is.faults, 1);
	gs_sched_destroy(s);
}

static void a_rank_that_is_no_number_too(void **state)
{
	static const struct gs_policy bad = { .name = "bad", .place = place_nowhere };
	struct gs_sched *s = under(&bad);

	(void)state;
	arrive(s, 1, MS, 0, 0);
	arrive(s, 3, MS, 0, 0);
	expect(s, 0, GS_ACT_RUN, 3);
	arrive(s, 2, MS, 0, 0);
	assert_int_equal(gs_sched_faults(s), 1);
	run(s, 0, 1);
	gs_sched_leave(s, 1, 0, NULL);
	run(s, 0, 3);
	gs_sched_leave(s, 3, 0, NULL);
	run(s, 0, 2);
	gs_sched_destroy(s);
}

/* Always somebody else: no order of tasks. */
static uint64_t pick_another(struct gs_view *view)
{
	return view->ready[0].task->id;
}

/* What it wants while somebody has the GPU is forgotten when the GPU is free. */
static uint64_t pick_fickle(struct gs_view *view)
{
	const struct gs_task *first = view->ready[0].task;

	for (size_t i = 1; i < view->count; i++)
		if ((view->ready[i].task->seq > first->seq) == (view->holder != NULL))
			first = view->ready[i].task;
	return first->id;
}

static void one_that_never_stops_too(void **state)
{
	static const struct gs_policy bad[] = {
		{ .name = "another", .pick = pick_another, .preempts = 1 },
		{ .name = "fickle", .pick = pick_fickle, .preempts = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gs_sched *s = under(&bad[i]);
		struct gs_sched_class_status is;
		struct gs_decision d;
		uint64_t now = 0;

		arrive(s, 1, MS, 0, now);
		arrive(s, 2, MS, 0, now);
		arrive(s, 3, MS, 0, now);
		for (unsigned k = 0; gs_sched_faults(s) == 0; k++) {
			assert_true(k < 200);
			gs_sched_decide(s, now, &d);
			if (d.action == GS_ACT_RUN)
				gs_sched_started(s, d.task, now);
			else if (d.action == GS_ACT_EVICT)
				gs_sched_stopped(s, d.task, now += 50 * 1000);
		}
		gs_sched_class_status(s, 0, &is);
		assert_string_equal(is.policy, "fifo");
		assert_string_equal(is.broke, bad[i].name);
		/* Whoever has the GPU keeps it. */
		gs_sched_decide(s, now, &d);
		assert_int_equal(d.action, GS_ACT_KEEP);
		gs_sched_leave(s, d.task, now, NULL);
		gs_sched_decide(s, now, &d);
		assert_int_equal(d.action, GS_ACT_RUN);
		assert_int_equal(gs_sched_faults(s), 1);
		gs_sched_destroy(s);
	}
}

/* A client's word is no proof against a policy: who has the GPU says that it is long, who waits
 * that it is short. */
static void lies_cost_no_policy(void **state)
{
	struct gs_sched *s = gs_sched_create("srt",
					     &(struct gs_sched_options) { .min_quantum_ns = MS,
									  .rr_quantum_ns = MS,
									  .cfs_epoch_ns = MS,
									  .dprr_tick_ns = MS },
					     0, NULL);
	unsigned evictions = 0, late = 0;
	struct gs_decision d;

	(void)state;
	assert_non_null(s);
	arrive(s, 1, 100 * MS, 0, 0);
	arrive(s, 2, 100 * MS, 0, 0);
	for (uint64_t now = 0; now < 1000 * (uint64_t)MS; now += MS / 20) {
		gs_sched_decide(s, now, &d);
		if (d.action == GS_ACT_RUN) {
			gs_sched_started(s, d.task, now);
			gs_sched_progress(s, d.task, 100, 0, 100 * MS, now);
			gs_sched_progress(s, 3 - d.task, 100, 0, MS, now);
		} else if (d.action == GS_ACT_EVICT) {
			gs_sched_stopped(s, d.task, now);
			evictions++;
			late += now > 500 * (uint64_t)MS;
		}
	}
	assert_int_equal(gs_sched_faults(s), 0);
	assert_string_equal(gs_sched_policy(s), "srt");
	/* At most one in a millisecond, in the end. */
	assert_in_range(evictions, 64, 66 + 1000);
	assert_in_range(late, 1, 501);
	gs_sched_destroy(s);
}

/* A new policy has done nothing yet. */
static void a_policy_answers_for_itself(void **state)
{
	static const struct gs_policy bad = { .name = "another",
					      .pick = pick_another,
					      .preempts = 1 };
	struct gs_sched *s = under(&bad);
	struct gs_decision d;

	(void)state;
	arrive(s, 1, MS, 0, 0);
	arrive(s, 2, MS, 0, 0);
	for (unsigned k = 0; k < 2 * 60; k++) {
		gs_sched_decide(s, 0, &d);
		if (d.action == GS_ACT_RUN)
			gs_sched_started(s, d.task, 0);
		else
			gs_sched_stopped(s, d.task, 0);
	}
	assert_int_equal(gs_sched_set_policy(s, "srt", 0, NULL), 0);
	for (unsigned k = 0; k < 60; k++) {
		gs_sched_decide(s, 0, &d);
		assert_int_not_equal(d.action, GS_ACT_IDLE);
		if (d.action == GS_ACT_RUN)
			gs_sched_started(s, d.task, 0);
		else if (d.action == GS_ACT_EVICT)
			gs_sched_stopped(s, d.task, 0);
		if (d.action != GS_ACT_RUN)
			gs_sched_progress(s, d.task, 100, 0, 100 * MS - k, 0);
	}
	assert_int_equal(gs_sched_faults(s), 0);
	gs_sched_destroy(s);
}

/* Each arrival may cost a holder the GPU, for as long as they come. */
static void many_arrivals_are_no_fault(void **state)
{
	static const struct gs_policy last = { .name = "last",
					       .place = place_nowhere,
					       .preempts = 1 };
	struct gs_sched *s = under(&last);

	(void)state;
	for (uint64_t id = 3; id < 500; id++) {
		struct gs_decision d;

		arrive(s, id, MS, 0, 0);
		gs_sched_decide(s, 0, &d);
		if (d.action == GS_ACT_EVICT) {
			gs_sched_stopped(s, d.task, 0);
			gs_sched_decide(s, 0, &d);
		}
		assert_int_equal(d.action, GS_ACT_RUN);
		assert_int_equal(d.task, id);
		gs_sched_started(s, d.task, 0);
	}
	assert_int_equal(gs_sched_faults(s), 0);
	gs_sched_destroy(s);
}

static void a_quantum_of_zero_still_makes_progress(void **state)
{
	static const struct gs_policy bad = { .name = "bad", .quantum = no_time };
	struct gs_sched *s = under(&bad);

	(void)state;
	arrive(s, 1, MS, 0, 0);
	arrive(s, 2, MS, 0, 0);
	run(s, 0, 1);
	assert_true(expect(s, 0, GS_ACT_KEEP, 1) > 0);
	gs_sched_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_task_life),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(time_never_runs_backwards),
		cmocka_unit_test(an_eviction_is_remembered),
		cmocka_unit_test(who_starts_is_the_callers_to_say),
		cmocka_unit_test(quanta_cover_the_handover),
		cmocka_unit_test(the_starved_get_a_slice),
		cmocka_unit_test(policies_are_exchanged_live),
		cmocka_unit_test(a_bad_pick_falls_back_to_fifo),
		cmocka_unit_test(a_rank_that_is_no_number_too),
		cmocka_unit_test(one_that_never_stops_too),
		cmocka_unit_test(lies_cost_no_policy),
		cmocka_unit_test(a_policy_answers_for_itself),
		cmocka_unit_test(many_arrivals_are_no_fault),
		cmocka_unit_test(a_quantum_of_zero_still_makes_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
