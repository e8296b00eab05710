/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders and answers through the page; see workers.h. */
#define _GNU_SOURCE
#include "gpushare/bench/workers.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/bench/process.h"
#include "gpushare/metrics/metrics.h"

#define POLL_MS 200
#define PREPARE_S 120
#define ALONE_S 300
#define ALONE_MAX 64

volatile sig_atomic_t bench_interrupted;

int bench_workers_start(struct bench_workers *workers, struct bench_stage *stage,
			enum bench_share share, const struct bench_part *part, uint32_t count,
			struct gs_error *err)
{
	char path[PATH_MAX];

	*workers = (struct bench_workers) { .stage = stage, .count = count };
	snprintf(path, sizeof(path), "%s/page", stage->folder);
	unlink(path);
	workers->page = bench_page_create(path, count, err);
	if (!workers->page)
		return -1;
	workers->page->spin = sysconf(_SC_NPROCESSORS_ONLN) >= (long)count + 2;
	workers->page->guarded = stage->guarded != 0;
	for (uint32_t i = 0; i < count; i++) {
		workers->pid[i] = bench_stage_program(stage, share, i, &part[i], err);
		if (workers->pid[i] < 0)
			return -1;
		bench_workers_order(workers, i, BENCH_PREPARE);
	}
	return bench_workers_wait_all(workers, PREPARE_S, err);
}

void bench_workers_stop(struct bench_workers *workers)
{
	int status;

	if (!workers->page)
		return;
	for (uint32_t i = 0; i < workers->count; i++)
		if (workers->pid[i] > 0)
			bench_workers_order(workers, i, BENCH_QUIT);
	for (uint32_t i = 0; i < workers->count; i++) {
		/*
		 * Give a program that still carries out an order three seconds; the others have
		 * ended by then.
		 */
		if (workers->pid[i] > 0 && !bench_reap(workers->pid[i], 3000, &status))
			bench_end(workers->pid[i]);
		workers->pid[i] = 0;
	}
	bench_page_close(workers->page);
	workers->page = NULL;
}

void bench_workers_order(struct bench_workers *workers, uint32_t i, enum bench_order order)
{
	struct bench_slot *s = &workers->page->slot[i];

	s->order = order;
	bench_doorbell(&s->given);
}

static int failure(struct bench_workers *workers, uint32_t i, struct gs_error *err)
{
	int status;

	if (bench_interrupted)
		return gs_fail(err, "interrupted");
	if (workers->page->slot[i].failed)
		return gs_fail(err, "program %u: %.200s", i, workers->page->slot[i].why);
	if (!bench_reap(workers->pid[i], 0, &status))
		return 0;
	workers->pid[i] = 0;
	if (WIFSIGNALED(status))
		return gs_fail(err, "program %u was ended by signal %d", i, WTERMSIG(status));
	return gs_fail(err, "program %u ended with status %d", i, WEXITSTATUS(status));
}

int bench_workers_wait(struct bench_workers *workers, uint32_t i, unsigned timeout_s,
		       struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[i];
	uint64_t until = gs_clock_ns() + timeout_s * GS_NS_PER_S;

	for (;;) {
		uint32_t doorbell = atomic_load(&workers->page->doorbell);

		if (atomic_load(&s->done) == atomic_load(&s->given))
			return s->failed ? failure(workers, i, err) : 0;
		for (uint32_t k = 0; k < workers->count; k++)
			if (failure(workers, k, err) < 0)
				return -1;
		if (gs_clock_ns() > until)
			return gs_fail(err, "program %u did not finish within %u s", i, timeout_s);
		bench_wait_for(&workers->page->doorbell, doorbell, POLL_MS);
	}
}

int bench_workers_wait_all(struct bench_workers *workers, unsigned timeout_s, struct gs_error *err)
{
	for (uint32_t i = 0; i < workers->count; i++)
		if (bench_workers_wait(workers, i, timeout_s, err) < 0)
			return -1;
	return 0;
}

uint64_t bench_workers_alone(struct bench_workers *workers, uint32_t i, uint32_t launches,
			     struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[i];
	double took[ALONE_MAX];
	uint32_t n = 0;

	s->work.launches = launches < ALONE_MAX ? launches : ALONE_MAX;
	s->work.release_ns = 0;
	s->work.period_ns = 0;
	bench_workers_order(workers, i, BENCH_RUN);
	if (bench_workers_wait(workers, i, ALONE_S, err) < 0)
		return 0;
	for (uint32_t k = s->work.launches > 1; k < s->work.launches; k++)
		took[n++] = (double)(s->sample[k].finish_ns - s->sample[k].launch_ns);
	return (uint64_t)gs_quantile(took, n, 0.5);
}
