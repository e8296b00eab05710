/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random sequences of everything that can happen, under every policy, against a
 * model of the GPU: it never idles while a task is ready, never runs two, loses
 * none, conserves work, and no wait exceeds the starvation bound.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/sched/sched.h"

#define MS GS_NS_PER_MS
#define TASKS 64
#define NONE (-1)

/* One task as the test knows it; ids are index + 1 + TASKS x generation. */
struct model_task {
	int live;
	uint64_t id;
	uint64_t length, work; /* ns */
	uint64_t arrival;
	uint32_t class;
	uint64_t ready_since; /* while it waits */
	uint64_t ran, waited; /* what the scheduler should account */
	uint32_t preemptions;
};

struct model {
	struct gs_sched *sched;
	struct gs_sched_options options;
	struct model_task task[TASKS];
	uint64_t state; /* of the random numbers */
	uint64_t now;
	uint64_t generation;
	int holder;     /* index, or NONE */
	uint64_t since; /* when it got the GPU */
	uint64_t deadline;
	int live;
	int classes;
	uint64_t finished, preempted;
	uint64_t busy, served; /* time the GPU was held; work of the tasks that have gone */
};

/* When there are classes: the second before the third before the first. */
static const struct gs_sched_class classes[] = { { NULL, 1, NULL },
						 { "rr", 5, NULL },
						 { "frs", 3, NULL } };
#define CLASSES 3

enum {
#define POLICY(name, words, source) IS_##name,
#include "gpushare/sched/policies.def"
#undef POLICY
	POLICIES
};

static uint64_t draw(struct model *m, uint64_t below)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return m->state % below;
}

static int index_of(const struct model *m, uint64_t id)
{
	for (int i = 0; i < TASKS; i++)
		if (m->task[i].live && m->task[i].id == id)
			return i;
	fail_msg("the scheduler names task %d, which is not there", (int)id);
	return NONE;
}

static void arrive(struct model *m)
{
	struct gs_task_params p;
	struct model_task *t;
	int i = 0;

	while (i < TASKS && m->task[i].live)
		i++;
	if (i == TASKS)
		return;
	t = &m->task[i];
	*t = (struct model_task) {
		.live = 1,
		.id = ++m->generation,
		.length = 1 + draw(m, 30 * MS),
		.arrival = m->now,
		.ready_since = m->now,
		.class = m->classes ? (uint32_t)draw(m, CLASSES) : 0,
	};
	p = (struct gs_task_params) {
		.nt = 1 + draw(m, 5000),
		.alone_ns = draw(m, 5) ? t->length : 0,
		.priority = (int32_t)draw(m, 40) - 5,
		.shares = 1 + (uint32_t)draw(m, 100),
		.class = t->class,
		.due_ns = draw(m, 3) ? 1 + m->now + draw(m, 60 * MS) : 0,
	};
	assert_int_equal(gs_sched_arrive(m->sched, t->id, &p, m->now, NULL), 0);
	m->live++;
}

/* The model's side of a holder that leaves the GPU. */
static void holder_off(struct model *m)
{
	struct model_task *t = &m->task[m->holder];

	t->work += m->now - m->since;
	t->ran += m->now - m->since;
	m->busy += m->now - m->since;
	m->holder = NONE;
}

/* Task i is over, or its owner died: the scheduler's account must be the model's. */
static void leave(struct model *m, int i)
{
	struct model_task *t = &m->task[i];
	struct gs_task_stats st;

	if (i == m->holder)
		holder_off(m);
	else
		t->waited += m->now - t->ready_since;
	gs_sched_leave(m->sched, t->id, m->now, &st);
	assert_int_equal(st.arrival_ns, t->arrival);
	assert_int_equal(st.ran_ns, t->ran);
	assert_int_equal(st.waited_ns, t->waited);
	assert_int_equal(st.preemptions, t->preemptions);
	assert_int_equal(t->ran + t->waited, m->now - t->arrival);
	m->served += t->work;
	t->live = 0;
	m->live--;
}

static void start(struct model *m, int i)
{
	struct model_task *t = &m->task[i];

	assert_int_equal(m->holder, NONE);
	m->now += m->options.handover_ns;
	t->waited += m->now - t->ready_since;
	m->holder = i;
	m->since = m->now;
	gs_sched_started(m->sched, t->id, m->now);
}

static void stop_running(struct model *m)
{
	struct model_task *t = &m->task[m->holder];

	/* It leaves a little later than it was told. */
	m->now += draw(m, MS / 10);
	holder_off(m);
	t->preemptions++;
	m->preempted++;
	if (draw(m, 2))
		gs_sched_progress(m->sched, t->id, 1000, draw(m, 1000), t->length, m->now);
	t->ready_since = m->now;
	gs_sched_stopped(m->sched, t->id, m->now);
}

/* Without a starvation bound nobody runs while somebody of a higher class waits. */
static void check_classes(const struct model *m)
{
	if (m->holder == NONE || m->options.starvation_ns)
		return;
	for (int i = 0; i < TASKS; i++)
		if (m->task[i].live && i != m->holder)
			assert_true(classes[m->task[i].class].priority <=
				    classes[m->task[m->holder].class].priority);
}

static void decide(struct model *m)
{
	struct gs_decision d;

	for (;;) {
		gs_sched_decide(m->sched, m->now, &d);
		assert_int_equal(gs_sched_count(m->sched), m->live);
		if (d.action == GS_ACT_IDLE) {
			assert_int_equal(m->live, 0);
			break;
		}
		if (d.action == GS_ACT_RUN) {
			assert_int_equal(m->holder, NONE);
			start(m, index_of(m, d.task));
			continue;
		}
		assert_int_not_equal(m->holder, NONE);
		assert_int_equal(d.task, m->task[m->holder].id);
		if (d.action == GS_ACT_KEEP)
			break;
		/* Nobody is evicted for nobody. */
		assert_true(m->live > 1);
		stop_running(m);
	}
	check_classes(m);
	m->deadline = d.deadline_ns;
	if (m->holder != NONE)
		assert_true(m->deadline > m->now);
}

static uint64_t remaining(const struct model_task *t)
{
	return t->length > t->work ? t->length - t->work : 0;
}

/* Let time pass until the next thing of interest, at most for `most`. */
static void pass(struct model *m, uint64_t most)
{
	uint64_t next = m->now + most;

	if (m->holder != NONE) {
		uint64_t done = m->since + remaining(&m->task[m->holder]);

		next = done < next ? done : next;
		next = m->deadline < next ? m->deadline : next;
	}
	m->now = next > m->now ? next : m->now;
	if (m->holder != NONE && m->now - m->since >= remaining(&m->task[m->holder])) {
		leave(m, m->holder);
		m->finished++;
	}
}

/* Whoever waits longer than the bound, waits for the others who do. */
static void check_waits(const struct model *m)
{
	uint64_t slice = m->options.min_quantum_ns + MS / 10 + 5 * m->options.handover_ns;

	if (!m->options.starvation_ns)
		return;
	for (int i = 0; i < TASKS; i++) {
		const struct model_task *t = &m->task[i];

		if (t->live && i != m->holder && m->now > t->ready_since)
			assert_true(m->now - t->ready_since <=
				    m->options.starvation_ns + TASKS * slice);
	}
}

static uint64_t extreme(struct model *m)
{
	static const uint64_t value[] = { 0, 1, 2, UINT64_MAX, UINT64_MAX / 2, UINT64_C(1) << 53 };

	return value[draw(m, sizeof(value) / sizeof(value[0]))];
}

static void something_happens(struct model *m)
{
	struct model_task *t = &m->task[draw(m, TASKS)];
	const char *name;

	switch (draw(m, 40)) {
	case 0: /* news */
		if (t->live)
			gs_sched_progress(m->sched, t->id, 1 + draw(m, 100), draw(m, 120),
					  draw(m, 3) ? t->length : 0, m->now);
		break;
	case 1: /* its owner is killed */
		if (t->live)
			leave(m, (int)(t - m->task));
		break;
	case 2: /* nonsense */
		gs_sched_stopped(m->sched, UINT64_MAX, m->now);
		gs_sched_leave(m->sched, UINT64_MAX, m->now, NULL);
		gs_sched_progress(m->sched, t->id, 0, 0, 0, m->now);
		break;
	case 4: /* what a hostile client may write into its page */
		if (t->live)
			gs_sched_progress(m->sched, t->id, extreme(m), extreme(m), extreme(m),
					  m->now);
		break;
	case 3: /* now and then the administrator */
		name = gs_sched_policy_name(draw(m, POLICIES));
		if (m->options.starvation_ns && draw(m, 10) == 0)
			assert_int_equal(gs_sched_set_policy(m->sched, name, m->now, NULL), 0);
		break;
	case 5: /* gpusharectl priority */
		gs_sched_set_priority(m->sched, t->live ? t->id : UINT64_MAX,
				      (int32_t)draw(m, 20) - 5, m->now);
		break;
	default:
		arrive(m);
	}
}

static void run(const char *policy, uint64_t seed, uint64_t handover, uint64_t starvation,
		int with_classes)
{
	struct model m = { .state = seed, .holder = NONE, .classes = with_classes };

	gs_sched_defaults(&m.options);
	m.options.handover_ns = handover;
	m.options.cfs_longest_wait = seed & 1;
	m.options.starvation_ns = starvation;
	m.sched = gs_sched_create(policy, &m.options, 0, NULL);
	assert_non_null(m.sched);
	if (with_classes)
		assert_int_equal(gs_sched_set_classes(m.sched, classes, CLASSES, 0, NULL), 0);
	for (int i = 0; i < 3000; i++) {
		if (draw(&m, 3) == 0)
			something_happens(&m);
		decide(&m);
		pass(&m, draw(&m, 12 * MS));
		check_waits(&m);
	}
	/* No more arrivals: all that is there finishes. */
	for (int i = 0; m.live; i++) {
		if (i > 200000)
			fail_msg("%s: %d tasks never finish", policy, m.live);
		decide(&m);
		pass(&m, 1000 * MS);
		check_waits(&m);
	}
	decide(&m);
	assert_int_equal(m.busy, m.served);
	assert_true(m.finished > 50);
	assert_int_equal(gs_sched_faults(m.sched), 0);
	if (!starvation)
		assert_string_equal(gs_sched_policy(m.sched), policy);
	gs_sched_destroy(m.sched);
}

static void every_policy(uint64_t handover, uint64_t starvation, int with_classes)
{
	const char *policy;

	for (size_t i = 0; (policy = gs_sched_policy_name(i)) != NULL; i++)
		for (uint64_t seed = 1; seed <= 10; seed++)
			run(policy, seed * UINT64_C(0x9E3779B97F4A7C15), handover, starvation,
			    with_classes);
}

static void without_handover(void **state)
{
	(void)state;
	every_policy(0, 0, 0);
}

static void with_handover(void **state)
{
	(void)state;
	every_policy(135000, 0, 0);
}

static void with_a_starvation_bound(void **state)
{
	(void)state;
	every_policy(135000, 40 * MS, 0);
}

static void with_classes_over_each_other(void **state)
{
	(void)state;
	every_policy(135000, 0, 1);
}

static void with_classes_and_a_bound(void **state)
{
	(void)state;
	every_policy(135000, 40 * MS, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_handover),
		cmocka_unit_test(with_handover),
		cmocka_unit_test(with_a_starvation_bound),
		cmocka_unit_test(with_classes_over_each_other),
		cmocka_unit_test(with_classes_and_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
