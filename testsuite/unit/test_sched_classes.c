/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes of tasks: their order, their policies, and who is starved across them. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/sched/sched.h"

#define MS GS_NS_PER_MS

enum { BATCH, INTERACTIVE, NIGHT };

static const struct gs_sched_class three[] = {
	{ NULL, 1, NULL },
	{ "rr", 10, NULL },
	{ "srt", -5, NULL },
};

static struct gs_sched *create(uint64_t starvation_ns)
{
	struct gs_sched_options o;
	struct gs_sched *s;

	gs_sched_defaults(&o);
	o.starvation_ns = starvation_ns;
	s = gs_sched_create("piv", &o, 0, NULL);
	assert_non_null(s);
	assert_int_equal(gs_sched_set_classes(s, three, 3, 0, NULL), 0);
	return s;
}

static void arrive(struct gs_sched *s, uint64_t id, uint32_t class, int32_t priority, uint64_t now)
{
	struct gs_task_params p = { .nt = 100,
				    .alone_ns = 50 * MS,
				    .priority = priority,
				    .shares = 1,
				    .class = class };

	assert_int_equal(gs_sched_arrive(s, id, &p, now, NULL), 0);
}

static struct gs_decision decide(struct gs_sched *s, uint64_t now)
{
	struct gs_decision d;

	gs_sched_decide(s, now, &d);
	return d;
}

static void expect_run(struct gs_sched *s, uint64_t id, uint64_t now)
{
	struct gs_decision d = decide(s, now);

	assert_int_equal(d.action, GS_ACT_RUN);
	assert_int_equal(d.task, id);
	gs_sched_started(s, id, now);
}

static void expect_evict(struct gs_sched *s, uint64_t id, uint64_t now)
{
	struct gs_decision d = decide(s, now);

	assert_int_equal(d.action, GS_ACT_EVICT);
	assert_int_equal(d.task, id);
	gs_sched_stopped(s, id, now);
}

static void higher_class_goes_first_and_evicts(void **state)
{
	struct gs_sched *s = create(0);

	(void)state;
	arrive(s, 1, NIGHT, 1000, 0);
	expect_run(s, 1, 0);
	arrive(s, 2, BATCH, 5, 1 * MS); /* a lower number, a higher class */
	expect_evict(s, 1, 1 * MS);
	expect_run(s, 2, 1 * MS);
	arrive(s, 3, BATCH, 9, 2 * MS); /* piv within the class */
	expect_evict(s, 2, 2 * MS);
	expect_run(s, 3, 2 * MS);
	arrive(s, 4, INTERACTIVE, 0, 3 * MS);
	expect_evict(s, 3, 3 * MS);
	expect_run(s, 4, 3 * MS);
	arrive(s, 5, BATCH, 1000, 4 * MS);
	assert_int_equal(decide(s, 4 * MS).action, GS_ACT_KEEP);
	gs_sched_leave(s, 4, 5 * MS, NULL);
	expect_run(s, 5, 5 * MS);
	gs_sched_leave(s, 5, 6 * MS, NULL);
	expect_run(s, 3, 6 * MS);
	gs_sched_destroy(s);
}

static void each_class_has_its_policy(void **state)
{
	struct gs_sched *s = create(0);
	struct gs_decision d;

	(void)state;
	arrive(s, 1, INTERACTIVE, 0, 0);
	arrive(s, 2, INTERACTIVE, 0, 0);
	expect_run(s, 1, 0);
	d = decide(s, 0);
	assert_int_equal(d.action, GS_ACT_KEEP);
	assert_int_equal(d.deadline_ns, 1 * MS); /* rr's quantum */
	expect_evict(s, 1, 1 * MS);
	expect_run(s, 2, 1 * MS);
	assert_string_equal(gs_sched_policy(s), "piv");
	assert_int_equal(gs_sched_set_policy(s, "fifo", 1 * MS, NULL), 0);
	assert_string_equal(gs_sched_policy(s), "fifo");
	/* rr is the class's own and stays. */
	assert_int_equal(decide(s, 1 * MS).deadline_ns, 2 * MS);
	gs_sched_destroy(s);
}

static void a_class_is_given_another_policy(void **state)
{
	struct gs_sched *s = create(0);
	struct gs_sched_class_status is;
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_sched_class_count(s), 3);
	arrive(s, 1, INTERACTIVE, 0, 0);
	arrive(s, 2, INTERACTIVE, 0, 0);
	expect_run(s, 1, 0);
	assert_int_equal(gs_sched_set_class_policy(s, INTERACTIVE, "nosuch", 0, &err), -1);
	assert_int_equal(gs_sched_set_class_policy(s, INTERACTIVE, "fifo", 0, &err), 0);
	assert_int_equal(decide(s, 0).deadline_ns, UINT64_MAX);
	gs_sched_class_status(s, INTERACTIVE, &is);
	assert_string_equal(is.policy, "fifo");
	/* One that had the GPU's has its own now, and the GPU's is as it was. */
	assert_int_equal(gs_sched_set_class_policy(s, BATCH, "srt", 0, &err), 0);
	gs_sched_class_status(s, BATCH, &is);
	assert_true(is.own);
	assert_int_equal(gs_sched_set_policy(s, "cfs", 0, NULL), 0);
	gs_sched_class_status(s, BATCH, &is);
	assert_string_equal(is.policy, "srt");
	gs_sched_destroy(s);
}

static void starved_task_of_a_low_class_gets_a_slice(void **state)
{
	struct gs_sched *s = create(20 * MS);
	struct gs_decision d;

	(void)state;
	arrive(s, 1, INTERACTIVE, 0, 0);
	expect_run(s, 1, 0);
	arrive(s, 2, NIGHT, 0, 5 * MS);
	d = decide(s, 5 * MS);
	assert_int_equal(d.action, GS_ACT_KEEP);
	assert_int_equal(d.deadline_ns, 25 * MS);
	expect_evict(s, 1, 25 * MS);
	expect_run(s, 2, 25 * MS);
	/* One slice, though the higher class waits; then it is the other's turn. */
	d = decide(s, 25 * MS);
	assert_int_equal(d.action, GS_ACT_KEEP);
	assert_int_equal(d.deadline_ns, 26 * MS);
	expect_evict(s, 2, 26 * MS);
	expect_run(s, 1, 26 * MS);
	gs_sched_destroy(s);
}

static void quanta_fit_the_measured_handover(void **state)
{
	struct gs_sched *s = create(0);

	(void)state;
	gs_sched_set_handover(s, 2 * MS);
	arrive(s, 1, INTERACTIVE, 0, 0);
	arrive(s, 2, INTERACTIVE, 0, 0);
	expect_run(s, 1, 0);
	assert_int_equal(decide(s, 0).deadline_ns, 8 * MS);
	gs_sched_destroy(s);
}

static struct gs_sched *by_priority(const char *policy)
{
	struct gs_sched_options o;
	struct gs_sched *s;

	gs_sched_defaults(&o);
	o.by_priority = 1;
	s = gs_sched_create(policy, &o, 0, NULL);
	assert_non_null(s);
	assert_int_equal(gs_sched_set_classes(s, three, 3, 0, NULL), -1);
	return s;
}

static void each_priority_is_a_class(void **state)
{
	struct gs_sched *s = by_priority("frs");

	(void)state;
	arrive(s, 1, 0, 1, 0);
	expect_run(s, 1, 0);
	arrive(s, 2, 0, 1, MS);
	assert_int_equal(decide(s, MS).action, GS_ACT_KEEP); /* equals: by the policy */
	arrive(s, 3, 0, 7, 2 * MS);
	expect_evict(s, 1, 2 * MS);
	expect_run(s, 3, 2 * MS);
	arrive(s, 4, 0, -3, 3 * MS);
	arrive(s, 5, 0, 1000, 3 * MS);
	expect_evict(s, 3, 3 * MS);
	expect_run(s, 5, 3 * MS);
	gs_sched_leave(s, 5, 4 * MS, NULL);
	expect_run(s, 3, 4 * MS);
	gs_sched_leave(s, 3, 5 * MS, NULL);
	gs_sched_leave(s, 1, 5 * MS, NULL);
	expect_run(s, 2, 5 * MS);
	gs_sched_leave(s, 2, 5 * MS, NULL);
	expect_run(s, 4, 5 * MS);
	gs_sched_destroy(s);
}

/* Many come and go, and more are there at once than there is room for classes: the order of those
 * that have one stays right. */
static void more_priorities_than_classes(void **state)
{
	struct gs_sched *s = by_priority("fifo");

	(void)state;
	for (uint64_t id = 1; id <= 100; id++) {
		arrive(s, id, 0, (int32_t)id, 0);
		gs_sched_leave(s, id, 0, NULL);
	}
	for (uint64_t id = 1; id <= 2 * GS_SCHED_CLASSES_MAX; id++)
		arrive(s, id, 0, (int32_t)id * 10, 0);
	assert_int_equal(gs_sched_class_count(s), GS_SCHED_CLASSES_MAX);
	assert_int_equal(gs_sched_count(s), 2 * GS_SCHED_CLASSES_MAX);
	/* The last ones share the highest class that there was, in order of arrival. */
	for (uint64_t id = GS_SCHED_CLASSES_MAX; id <= 2 * GS_SCHED_CLASSES_MAX; id++) {
		expect_run(s, id, 0);
		gs_sched_leave(s, id, 0, NULL);
	}
	for (uint64_t id = GS_SCHED_CLASSES_MAX - 1; id > 0; id--) {
		expect_run(s, id, 0);
		gs_sched_leave(s, id, 0, NULL);
	}
	gs_sched_destroy(s);
}

static void who_is_more_urgent(void **state)
{
	static const struct gs_urgency batch = { BATCH, 5, 0 }, batch_low = { BATCH, 1, 0 },
				       night = { NIGHT, 5, 0 }, rr = { INTERACTIVE, 5, 0 },
				       rr_low = { INTERACTIVE, 1, 0 };
	struct gs_sched *s = create(0);

	(void)state;
	assert_true(gs_sched_compare(s, rr, batch) > 0);
	assert_true(gs_sched_compare(s, night, batch_low) < 0);
	assert_true(gs_sched_compare(s, batch, batch_low) > 0); /* piv goes by priorities */
	assert_int_equal(gs_sched_compare(s, rr, rr_low), 0);   /* rr does not */
	gs_sched_destroy(s);
	s = by_priority("rr");
	assert_true(gs_sched_compare(s, rr, rr_low) > 0);
	assert_int_equal(gs_sched_compare(s, rr, night), 0);
	gs_sched_destroy(s);
}

static void a_deadline_is_urgent_under_edf_only(void **state)
{
	static const struct gs_urgency due = { 0, 1, 1 }, due_high = { 0, 5, 1 },
				       none = { 0, 5, 0 };
	struct gs_sched *s;

	(void)state;
	s = create(0);
	assert_int_equal(gs_sched_set_class_policy(s, 0, "edf", 0, NULL), 0);
	assert_true(gs_sched_compare(s, due, none) > 0);
	assert_true(gs_sched_compare(s, none, due) < 0);
	assert_int_equal(gs_sched_compare(s, due, due_high), 0);
	assert_true(gs_sched_is_due(s, due) && !gs_sched_is_due(s, none));
	assert_int_equal(gs_sched_set_class_policy(s, 0, "rr", 0, NULL), 0);
	assert_int_equal(gs_sched_compare(s, due, none), 0);
	assert_false(gs_sched_is_due(s, due));
	gs_sched_destroy(s);
	s = by_priority("edf");
	assert_true(gs_sched_compare(s, due, none) < 0); /* its priority is lower */
	assert_true(gs_sched_compare(s, due_high, none) > 0);
	assert_true(gs_sched_is_due(s, due_high) && !gs_sched_is_due(s, none));
	gs_sched_destroy(s);
}

static void a_holder_is_evicted_when_told(void **state)
{
	struct gs_sched *s = by_priority("fifo");

	(void)state;
	gs_sched_evict(s); /* of nobody */
	arrive(s, 1, 0, 1, 0);
	arrive(s, 2, 0, 1, 0);
	expect_run(s, 1, 0);
	assert_int_equal(decide(s, MS).action, GS_ACT_KEEP);
	gs_sched_evict(s);
	expect_evict(s, 1, MS);
	gs_sched_destroy(s);
}

static void bad_classes_are_refused(void **state)
{
	static const struct gs_sched_class unknown[] = { { "nosuch", 1, NULL } };
	struct gs_sched *s = create(0);
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_sched_set_classes(s, unknown, 1, 0, &err), -1);
	assert_non_null(strstr(err.text, "'nosuch' is not a policy"));
	assert_int_equal(gs_sched_set_classes(s, three, 0, 0, &err), -1);
	assert_int_equal(gs_sched_set_classes(s, three, 9, 0, &err), -1);
	arrive(s, 1, 7, 0, 0); /* no such class: the last */
	assert_int_equal(gs_sched_set_classes(s, three, 3, 0, &err), -1);
	arrive(s, 2, BATCH, 0, 0);
	expect_run(s, 2, 0);
	gs_sched_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(higher_class_goes_first_and_evicts),
		cmocka_unit_test(each_class_has_its_policy),
		cmocka_unit_test(a_class_is_given_another_policy),
		cmocka_unit_test(starved_task_of_a_low_class_gets_a_slice),
		cmocka_unit_test(quanta_fit_the_measured_handover),
		cmocka_unit_test(bad_classes_are_refused),
		cmocka_unit_test(each_priority_is_a_class),
		cmocka_unit_test(more_priorities_than_classes),
		cmocka_unit_test(who_is_more_urgent),
		cmocka_unit_test(a_deadline_is_urgent_under_edf_only),
		cmocka_unit_test(a_holder_is_evicted_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
