/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random periodic kernels under edf, with the cost of hand-overs.
 *
 * The test of Liu and Layland for earliest deadline first, with the hand-overs of this system: of
 * kernels that arrive every T_i, take C_i and are due D_i <= T_i after their arrival, none misses a
 * deadline if
 *
 *	sum of (C_i + 2 h) / min(T_i, D_i) + q / (the smallest of the min(T_i, D_i)) <= 1
 *
 * where h is a hand-over and q the longest block-task, at whose end an evicted kernel leaves. Why
 * this is enough: consider a deadline d, and the last time t before it at which the GPU had nothing
 * to do with a job that is due by d. From t to d it works on jobs that arrived after t and are due
 * by d. Each of them gets the GPU by a hand-over once, and once more for each job that evicted it;
 *a job evicts one other at most, when it arrives, and the first of them evicts none of these jobs.
 *So these are at most 2n - 1 hand-overs of n jobs, and what was under way at t, for a job that is
 *due later, is one hand-over more or the rest of a block-task. The condition is sufficient and not
 * necessary: of the sets that do not satisfy it many miss nothing.
 *
 * GS_EDF_SETS says how many sets there are; 1,000 without it.
 */
#define _GNU_SOURCE
#include "simulate.h"

#include <math.h>

#include "gpushare/sim/periodic.h"

#define SETS 1000
#define KERNELS_MAX 8
#define UTILISATION 0.9
#define LONG_PERIODS 20

struct set {
	struct sim_kernel kernel[KERNELS_MAX];
	size_t count;
	uint64_t handover_ns, until_ns;
};

struct counts {
	unsigned sets, sets_that_miss;
	uint64_t jobs, missed;
};

static double draw(void)
{
	return ((double)random() + 0.5) / ((double)RAND_MAX + 1);
}

static double shorter(const struct sim_kernel *k)
{
	return (double)(k->deadline_ns < k->period_ns ? k->deadline_ns : k->period_ns);
}

/* The left side of the condition above. */
static double demand(const struct set *s)
{
	double sum = 0, shortest = INFINITY, longest_task = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct sim_kernel *k = &s->kernel[i];

		sum += (double)(k->length_ns + 2 * s->handover_ns) / shorter(k);
		shortest = fmin(shortest, shorter(k));
		longest_task = fmax(longest_task, (double)k->length_ns / (double)k->block_tasks);
	}
	return sum + longest_task / shortest;
}

/* Divides `whole` at random, each division as likely as another (UUniFast). */
static void divide(double whole, double *part, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		double rest = whole * pow(draw(), 1.0 / (double)(n - i - 1));

		part[i] = whole - rest;
		whole = rest;
	}
	part[n - 1] = whole;
}

/* A kernel of block-tasks of 1 to 50 us that takes about so long; at least one of them. */
static void set_length(struct sim_kernel *k, double ns)
{
	uint64_t task_ns = 1000 + (uint64_t)(49000 * draw());

	k->block_tasks = ns > (double)task_ns ? (uint64_t)(ns / (double)task_ns) : 1;
	k->length_ns = k->block_tasks * task_ns;
}

/*
 * Periods of 5 to 100 ms; deadlines as the periods or shorter; all arrive at once, or each at a
 * time of its own. with_handovers: the hand-overs are within the utilisation, else they come on
 * top.
 */
static void draw_set(struct set *s, int with_handovers)
{
	int early = draw() < 0.5, at_once = draw() < 0.5;
	double part[KERNELS_MAX], longest = 0;

	memset(s, 0, sizeof(*s));
	s->count = 2 + (size_t)random() % (KERNELS_MAX - 1);
	s->handover_ns = (uint64_t)(0.3 * draw() * MS);
	divide(UTILISATION, part, s->count);
	for (size_t i = 0; i < s->count; i++) {
		struct sim_kernel *k = &s->kernel[i];

		snprintf(k->name, sizeof(k->name), "k%zu", i);
		k->shares = 1;
		k->period_ns = (uint64_t)(5 * pow(20, draw()) * MS);
		k->deadline_ns = early ? (uint64_t)((double)k->period_ns * (0.7 + 0.3 * draw())) :
					 k->period_ns;
		k->arrival_ns = at_once ? 0 : (uint64_t)((double)k->period_ns * draw());
		set_length(k, with_handovers ? part[i] * shorter(k) - 2.0 * (double)s->handover_ns :
					       part[i] * (double)k->period_ns);
		longest = fmax(longest, (double)k->period_ns);
	}
	s->until_ns = (uint64_t)(LONG_PERIODS * longest);
}

static struct sim_periodic_summary play(const struct set *s, const char *policy)
{
	struct sim_workload w = { .kernel = (struct sim_kernel *)(uintptr_t)s->kernel,
				  .count = s->count };
	struct sim_periodic x = { .workload = &w,
				  .costs = sim_costs_of(s->handover_ns),
				  .until_ns = s->until_ns };
	static struct gs_timing timing[KERNELS_MAX];
	struct sim_periodic_summary is;
	struct gs_error err;

	gs_sched_defaults(&x.options);
	x.options.handover_ns = s->handover_ns;
	if (sim_periodic_run(&x, policy, timing, &is, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(is.faults, 0);
	return is;
}

static void count(struct counts *t, const struct sim_periodic_summary *is)
{
	t->sets++;
	t->sets_that_miss += is->missed > 0;
	t->jobs += is->jobs;
	t->missed += is->missed;
}

static void say(const char *which, const struct counts *t)
{
	print_message("%s: %u sets, %llu jobs; %u sets miss %llu deadlines\n", which, t->sets,
		      (unsigned long long)t->jobs, t->sets_that_miss,
		      (unsigned long long)t->missed);
}

static void describe(const struct set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct sim_kernel *k = &s->kernel[i];

		print_message("%s: arrival %llu period %llu deadline %llu length %llu ns in %llu\n",
			      k->name, (unsigned long long)k->arrival_ns,
			      (unsigned long long)k->period_ns, (unsigned long long)k->deadline_ns,
			      (unsigned long long)k->length_ns, (unsigned long long)k->block_tasks);
	}
	print_message("hand-over %llu ns\n", (unsigned long long)s->handover_ns);
}

static void no_deadline_is_missed_where_the_test_holds(void **state)
{
	struct counts within = { 0 }, above = { 0 }, fifo = { 0 };
	const char *wanted = getenv("GS_EDF_SETS");
	int sets = wanted ? atoi(wanted) : SETS;

	(void)state;
	assert_in_range(sets, 10, 1000000);
	srandom(1);
	for (int i = 0; i < sets; i++) {
		struct set s;
		struct sim_periodic_summary is, other;

		draw_set(&s, i % 2);
		is = play(&s, "edf");
		if (demand(&s) > 1) {
			count(&above, &is);
			continue;
		}
		if (is.missed) {
			describe(&s);
			fail_msg("set %d: %llu deadlines are missed at a demand of %.3f", i,
				 (unsigned long long)is.missed, demand(&s));
		}
		count(&within, &is);
		other = play(&s, "fifo");
		count(&fifo, &other);
	}
	say("edf where the test holds", &within);
	say("the same sets under fifo", &fifo);
	say("edf above", &above);
	/* Otherwise the sets would say nothing. */
	assert_true(within.sets > (unsigned)sets / 4 && above.sets > (unsigned)sets / 10);
	assert_true(fifo.sets_that_miss > within.sets / 10);
	assert_true(above.missed > 0);
}

/* 4 ms every 10, and 5 every 14 (due after 12): at 0 both arrive. */
static void two_kernels_by_hand(void **state)
{
	struct sim_workload w = parse("name,length_ms,period_ms,deadline_ms\n"
				      "a,4,10,10\n"
				      "b,5,14,12\n"
				      "once,1,0,0\n");
	struct sim_periodic x = { .workload = &w, .costs = sim_costs_of(0), .until_ns = 28 * MS };
	struct gs_timing timing[3];
	struct sim_periodic_summary is;
	struct gs_error err;

	(void)state;
	gs_sched_defaults(&x.options);
	assert_int_equal(sim_periodic_run(&x, "edf", timing, &is, &err), 0);
	/* a 0-4, b 4-9, once 9-10, a 10-14, b 14-19, a 20-24. */
	assert_int_equal(is.jobs, 6);
	assert_int_equal(is.missed, 0);
	assert_int_equal(timing[0].jobs, 3);
	assert_int_equal(timing[1].jobs, 2);
	within("a: response", gs_timing_summary(&timing[0], GS_TIMING_RESPONSE).max_ms, 4, 0.01);
	assert_int_equal(timing[0].of[GS_TIMING_JITTER].most_ns, 0);
	within("b: response", gs_timing_summary(&timing[1], GS_TIMING_RESPONSE).max_ms, 9, 0.01);
	within("b: pending", gs_timing_summary(&timing[1], GS_TIMING_PENDING).max_ms, 4, 0.01);
	/* b ends at 9 and at 19: 10 ms apart instead of 14. */
	within("b: jitter", gs_timing_summary(&timing[1], GS_TIMING_JITTER).max_ms, 4, 0.01);
	assert_int_equal(timing[2].of[GS_TIMING_RESPONSE].most_ns, 10 * MS);
	assert_int_equal(timing[2].of[GS_TIMING_TARDINESS].count, 0);
	sim_workload_free(&w);
}

static void an_overload_is_counted_and_ends(void **state)
{
	struct sim_workload w = parse("name,length_ms,period_ms\na,6,10\nb,6,10\n");
	struct sim_periodic x = { .workload = &w, .costs = sim_costs_of(0), .until_ns = 100 * MS };
	struct gs_timing timing[2];
	struct sim_periodic_summary is;
	struct gs_error err;

	(void)state;
	gs_sched_defaults(&x.options);
	assert_int_equal(sim_periodic_run(&x, "edf", timing, &is, &err), 0);
	/* 20 jobs of 6 ms take 120 ms; each period makes the next 2 ms later. */
	assert_int_equal(is.jobs, 20);
	assert_true(is.missed >= 10);
	assert_int_equal(timing[1].of[GS_TIMING_TARDINESS].most_ns, 20 * MS);
	sim_workload_free(&w);
}

static void what_is_too_much_is_refused(void **state)
{
	struct sim_workload w = parse("name,length_ms,period_ms\na,6,0.000001\n");
	struct sim_periodic x = { .workload = &w, .costs = sim_costs_of(0), .until_ns = 20 * MS };
	struct gs_timing timing[1];
	struct sim_periodic_summary is;
	struct gs_error err;

	(void)state;
	gs_sched_defaults(&x.options);
	assert_int_equal(sim_periodic_run(&x, "edf", timing, &is, &err), -1);
	assert_non_null(strstr(err.text, "10000000 arrivals"));
	x.until_ns = 1;
	assert_int_equal(sim_periodic_run(&x, "no such", timing, &is, &err), -1);
	sim_workload_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_kernels_by_hand),
		cmocka_unit_test(an_overload_is_counted_and_ends),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(no_deadline_is_missed_where_the_test_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
