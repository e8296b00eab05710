/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long deciding takes: for every policy and number of runnable tasks, the
 * mean and the 99th percentile of one gs_sched_decide() over turns in which
 * the holder uses its quantum up, is evicted or finishes, and a task arrives.
 * With --check it exits 1 when the mean is above the bar: 2 us with 64
 * runnable tasks, 20 us with 4,096.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/metrics/metrics.h"
#include "gpushare/sched/sched.h"

#define TURNS 20000

static const struct {
	unsigned tasks;
	double bar_ns;
} sizes[] = { { 64, 2000 }, { 4096, 20000 } };

struct bench {
	struct gs_sched *sched;
	uint64_t now, next_id;
	uint64_t holder; /* 0: nobody */
	double sample[2 * TURNS];
	size_t samples;
};

static void arrive(struct bench *b)
{
	struct gs_task_params p = {
		.nt = 1000,
		.alone_ns = (uint64_t)(1 + random() % 30) * GS_NS_PER_MS,
		.priority = (int32_t)(random() % 30),
		.shares = 1 + (uint32_t)random() % 100,
		.due_ns = b->now + (uint64_t)(random() % 100) * GS_NS_PER_MS,
	};
	struct gs_error err;

	if (gs_sched_arrive(b->sched, ++b->next_id, &p, b->now, &err) < 0) {
		fprintf(stderr, "sched_bench: %s\n", err.text);
		exit(1);
	}
}

static struct gs_decision decide(struct bench *b)
{
	uint64_t before = gs_clock_ns();
	struct gs_decision d;

	gs_sched_decide(b->sched, b->now, &d);
	if (b->samples < sizeof(b->sample) / sizeof(b->sample[0]))
		b->sample[b->samples++] = (double)(gs_clock_ns() - before);
	return d;
}

static void one_round(struct bench *b, int i)
{
	struct gs_decision d = decide(b);

	if (d.action == GS_ACT_RUN) {
		b->holder = d.task;
		gs_sched_started(b->sched, b->holder, b->now);
		b->now += GS_NS_PER_MS / 4;
		return;
	}
	if (d.action == GS_ACT_EVICT)
		gs_sched_stopped(b->sched, b->holder, b->now);
	else if (i % 3 == 0) {
		gs_sched_leave(b->sched, b->holder, b->now, NULL);
		arrive(b);
	}
	b->now += GS_NS_PER_MS / 2;
}

/* Mean ns per decision. */
static double measure(const char *policy, unsigned tasks)
{
	static struct bench b;
	struct gs_sched_options options;
	double mean;

	memset(&b, 0, sizeof(b));
	gs_sched_defaults(&options);
	b.sched = gs_sched_create(policy, &options, 0, NULL);
	if (!b.sched)
		exit(1);
	srandom(1);
	for (unsigned i = 0; i < tasks; i++)
		arrive(&b);
	for (int i = 0; i < TURNS; i++)
		one_round(&b, i);
	mean = gs_antt(b.sample, b.samples);
	printf("%s,%u,%.0f,%.0f\n", policy, tasks, mean, gs_quantile(b.sample, b.samples, 0.99));
	gs_sched_destroy(b.sched);
	return mean;
}

int main(int argc, char **argv)
{
	int check = argc > 1 && strcmp(argv[1], "--check") == 0, slow = 0;
	const char *policy;

	printf("policy,runnable,mean_ns,p99_ns\n");
	for (size_t i = 0; (policy = gs_sched_policy_name(i)) != NULL; i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
			slow |= measure(policy, sizes[k].tasks) > sizes[k].bar_ns;
	return check && slow;
}
