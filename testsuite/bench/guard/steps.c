/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guard_run.h. */
#define _GNU_SOURCE
#include "guard_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVICTIONS_MAX 6u /* of a run, so that each ends */
#define LAUNCHES_MAX 40u

static CUevent events[2];

/* One launch by itself, in microseconds of the GPU. */
static double time_launch(const struct test *t, CUfunction f, const struct gs_guard *guard)
{
	float ms = 0;

	if (!events[0])
		for (int i = 0; i < 2; i++)
			MUST(cuEventCreate(&events[i], CU_EVENT_DEFAULT));
	MUST(cuEventRecord(events[0], gpu.run));
	test_launch(t, f, guard);
	MUST(cuEventRecord(events[1], gpu.run));
	gpu_finish();
	MUST(cuEventElapsedTime(&ms, events[0], events[1]));
	return ms * 1e3;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double part_of(double *sorted, unsigned n, double part)
{
	unsigned i = (unsigned)((double)n * part);

	return n ? sorted[i < n ? i : n - 1] : 0;
}

void step_native(const struct test *t, struct result *r)
{
	double times[9];
	int resident = 0;

	for (int i = -2; i < 9; i++) {
		double us;

		test_reset(t);
		us = time_launch(t, t->native, NULL);
		if (i >= 0)
			times[i] = us;
	}
	qsort(times, 9, sizeof(times[0]), ascending);
	r->native_us = times[4];
	MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, t->native, (int)test_threads(t),
							 t->shared));
	if (resident > 0)
		r->waves = (double)t->grid[0] * t->grid[1] * t->grid[2] / resident / gpu.sms;
	r->block_us = r->waves > 1 ? r->native_us / r->waves : r->native_us;
}

/* What stands in W and behind it before a launch; W begins at 0 or at the prefix. */
static struct gs_guard begin(const struct guarded *g, uint64_t base, int from_base)
{
	struct gs_guard arg = { gpu.guard, base, g->group };

	MUST(cuMemsetD8Async(gpu.guard, 0, GS_GUARD_BYTES, gpu.run));
	if (from_base)
		MUST(cuMemsetD32Async(gpu.guard, (unsigned)(base >> g->group), 1, gpu.run));
	gpu_finish();
	return arg;
}

/* One of two ways, both with the second stream. */
static void evict(int by_copy)
{
	if (by_copy || cu.cuStreamWriteValue32(gpu.evict, gpu.guard + GS_GUARD_UPPER_AT,
					       GS_GUARD_LEAVE_UPPER, 0) != CUDA_SUCCESS)
		MUST(cuMemcpyHtoDAsync(gpu.guard + GS_GUARD_UPPER_AT, gpu.leave, 4, gpu.evict));
}

/* Units that have run once this launch is over. */
static uint64_t done(const struct guarded *g, uint64_t base)
{
	uint64_t w = 0, n, units = test_units(g->test);

	MUST(cuStreamSynchronize(gpu.evict));
	MUST(cuMemcpyDtoH(&w, gpu.guard, sizeof(w)));
	n = (uint64_t)GS_GUARD_COUNT(w) << g->group;
	n = n > base ? n : base;
	return n < units ? n : units;
}

/* Blocks that did not run exactly once, if they are among the first n, or at all otherwise. */
static unsigned miscounted(const struct test *t, uint64_t n)
{
	size_t blocks = t->out_bytes / 4;
	uint32_t *count = malloc(t->out_bytes);
	unsigned bad = 0;

	if (!count)
		exit(3);
	MUST(cuMemcpyDtoH(count, t->out, t->out_bytes));
	for (size_t b = 0; b < blocks; b++)
		bad += count[b] != (b < n ? test_threads(t) : 0);
	free(count);
	return bad;
}

static void one_run(struct guarded *g, struct result *r, int evicted)
{
	uint64_t base = 0, units = test_units(g->test);
	unsigned evictions = 0, launches = 0;

	test_reset(g->test);
	while (base < units && launches < LAUNCHES_MAX) {
		struct gs_guard arg = begin(g, base, launches & 1);
		int now = evicted && evictions < EVICTIONS_MAX && (random_word() & 7);

		test_launch(g->test, g->f, &arg);
		launches++;
		if (now) {
			delay_us(random_part() * r->native_us);
			evict(random_word() & 1);
			evictions++;
		}
		gpu_finish();
		base = done(g, base);
		r->evictions += now && base < units;
		if (g->test->counts && miscounted(g->test, base))
			r->not_prefix++;
	}
	r->runs++;
	r->launches += launches;
	r->stuck += base < units;
	r->wrong += gpu_differ(g->test->out, g->want, g->test->out_bytes) != 0;
}

void step_random(struct guarded *g, struct result *r, unsigned runs, int evicted)
{
	for (unsigned i = 0; i < runs; i++)
		one_run(g, r, evicted);
}

void step_cost(struct guarded *g, struct result *r, unsigned pairs)
{
	double *ratio = calloc(pairs, sizeof(*ratio)), logs = 0;

	if (!ratio)
		exit(3);
	for (unsigned i = 0; i < pairs + 2; i++) {
		double native = 0, guarded = 0;
		struct gs_guard arg;

		for (int turn = 0; turn < 2; turn++) {
			test_reset(g->test);
			if (turn == (int)(i & 1)) {
				native = time_launch(g->test, g->test->native, NULL);
			} else {
				arg = begin(g, 0, 0);
				guarded = time_launch(g->test, g->f, &arg);
			}
		}
		if (i >= 2) {
			ratio[i - 2] = guarded / native;
			logs += log(guarded / native);
		}
	}
	qsort(ratio, pairs, sizeof(*ratio), ascending);
	r->cost_p50 = part_of(ratio, pairs, 0.5);
	r->cost_mean = exp(logs / pairs);
	free(ratio);
}

void step_gone(struct guarded *g, struct result *r, unsigned times)
{
	double *us = calloc(times, sizeof(*us));
	unsigned n = 0;

	if (!us)
		exit(3);
	for (unsigned i = 0; i < times; i++) {
		struct gs_guard arg;
		double from;

		test_reset(g->test);
		arg = begin(g, 0, 0);
		test_launch(g->test, g->f, &arg);
		delay_us(r->native_us * (0.1 + 0.6 * random_part()));
		from = now_us();
		evict(0);
		gpu_finish();
		from = now_us() - from;
		if (done(g, 0) < test_units(g->test))
			us[n++] = from;
	}
	qsort(us, n, sizeof(*us), ascending);
	r->gone_p50 = part_of(us, n, 0.5);
	r->gone_p99 = part_of(us, n, 0.99);
	r->gone_count = n;
	free(us);
}
