/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders and answers through the page; see crew.h. */
#define _GNU_SOURCE
#include "gpushare/bench/crew.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/bench/process.h"
#include "gpushare/metrics/metrics.h"

#define LOOK_MS 200
#define PREPARE_S 120
#define ALONE_S 300
#define ALONE_MAX 64

volatile sig_atomic_t bench_interrupted;

int bench_crew_start(struct bench_crew *crew, struct bench_stage *stage, enum bench_share share,
		     const struct bench_part *part, uint32_t count, struct gs_error *err)
{
	char path[PATH_MAX];

	*crew = (struct bench_crew){ .stage = stage, .count = count };
	snprintf(path, sizeof(path), "%s/page", stage->folder);
	unlink(path);
	crew->page = bench_page_create(path, count, err);
	if (!crew->page)
		return -1;
	crew->page->spin = sysconf(_SC_NPROCESSORS_ONLN) >= (long)count + 2;
	for (uint32_t i = 0; i < count; i++) {
		crew->pid[i] = bench_stage_program(stage, part[i].native ? BENCH_DRIVER : share, i,
						   part[i].shares, part[i].priority, err);
		if (crew->pid[i] < 0)
			return -1;
		bench_crew_order(crew, i, BENCH_PREPARE);
	}
	return bench_crew_wait_all(crew, PREPARE_S, err);
}

void bench_crew_stop(struct bench_crew *crew)
{
	int status;

	if (!crew->page)
		return;
	for (uint32_t i = 0; i < crew->count; i++)
		if (crew->pid[i] > 0)
			bench_crew_order(crew, i, BENCH_QUIT);
	for (uint32_t i = 0; i < crew->count; i++) {
		/*
		 * Give a program that still carries out an order three seconds; the others have
		 * ended by then.
		 */
		if (crew->pid[i] > 0 && !bench_reap(crew->pid[i], 3000, &status))
			bench_end(crew->pid[i]);
		crew->pid[i] = 0;
	}
	bench_page_close(crew->page);
	crew->page = NULL;
}

void bench_crew_order(struct bench_crew *crew, uint32_t i, enum bench_order order)
{
	struct bench_slot *s = &crew->page->slot[i];

	s->order = order;
	bench_doorbell(&s->given);
}

static int failure(struct bench_crew *crew, uint32_t i, struct gs_error *err)
{
	int status;

	if (bench_interrupted)
		return gs_fail(err, "interrupted");
	if (crew->page->slot[i].failed)
		return gs_fail(err, "program %u: %.200s", i, crew->page->slot[i].why);
	if (!bench_reap(crew->pid[i], 0, &status))
		return 0;
	crew->pid[i] = 0;
	if (WIFSIGNALED(status))
		return gs_fail(err, "program %u was ended by signal %d", i, WTERMSIG(status));
	return gs_fail(err, "program %u ended with status %d", i, WEXITSTATUS(status));
}

int bench_crew_wait(struct bench_crew *crew, uint32_t i, unsigned timeout_s,
		    struct gs_error *err)
{
	struct bench_slot *s = &crew->page->slot[i];
	uint64_t until = gs_clock_ns() + timeout_s * GS_NS_PER_S;

	for (;;) {
		uint32_t doorbell = atomic_load(&crew->page->doorbell);

		if (atomic_load(&s->done) == atomic_load(&s->given))
			return s->failed ? failure(crew, i, err) : 0;
		for (uint32_t k = 0; k < crew->count; k++)
			if (failure(crew, k, err) < 0)
				return -1;
		if (gs_clock_ns() > until)
			return gs_fail(err, "program %u did not finish within %u s", i, timeout_s);
		bench_await(&crew->page->doorbell, doorbell, LOOK_MS);
	}
}

int bench_crew_wait_all(struct bench_crew *crew, unsigned timeout_s, struct gs_error *err)
{
	for (uint32_t i = 0; i < crew->count; i++)
		if (bench_crew_wait(crew, i, timeout_s, err) < 0)
			return -1;
	return 0;
}

uint64_t bench_crew_alone(struct bench_crew *crew, uint32_t i, uint32_t launches,
			  struct gs_error *err)
{
	struct bench_slot *s = &crew->page->slot[i];
	double took[ALONE_MAX];
	uint32_t n = 0;

	s->launches = launches < ALONE_MAX ? launches : ALONE_MAX;
	s->release_ns = 0;
	s->period_ns = 0;
	bench_crew_order(crew, i, BENCH_RUN);
	if (bench_crew_wait(crew, i, ALONE_S, err) < 0)
		return 0;
	for (uint32_t k = s->launches > 1; k < s->launches; k++)
		took[n++] = (double)(s->sample[k].finish_ns - s->sample[k].launch_ns);
	return (uint64_t)gs_quantile(took, n, 0.5);
}
