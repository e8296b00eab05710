/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading, calibrating and timing spin.cu's kernel; see kernel.h. */
#define _GNU_SOURCE
#include "gpushare/bench/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

static const char ptx[] =
#include "gpushare/bench/spin.ptx.inc"
	;

/* Behind the loads of its parameters; no lane has so large a number. */
#define BODY "\tld.param.u32 \t%r5, [spin_param_4];\n"
static const char leaves[] = "\t.reg .pred %leaves;\n\t.reg .b32 %lane;\n"
			     "\tmov.u32 %lane, %tid.x;\n\tsetp.gt.u32 %leaves, %lane, %r5;\n"
			     "\tsetp.gt.and.u32 %leaves, %lane, 1024, %leaves;\n"
			     "\t@%leaves ret;\n\tbar.sync 0;\n";

#define CALIBRATION_WAVES 24
#define ITERATIONS_MAX (1u << 30)

static int load(struct bench_kernel *k, int guarded, CUmodule *module, struct gs_error *err)
{
	const char *body = strstr(ptx, BODY);
	char *text;
	int rc;

	if (!guarded)
		return BENCH_CU(k->cu, err, cuModuleLoadData, module, ptx);
	if (!body || asprintf(&text, "%.*s%s%s", (int)(body + strlen(BODY) - ptx), ptx, leaves,
			      body + strlen(BODY)) < 0)
		return gs_fail(err, "the kernel's text is not what it should be");
	rc = BENCH_CU(k->cu, err, cuModuleLoadData, module, text);
	free(text);
	return rc;
}

int bench_kernel_load(struct bench_kernel *k, int guarded, struct gs_error *err)
{
	CUcontext context;
	CUmodule module;
	int sms = 0, blocks = 0;

	*k = (struct bench_kernel) { .cu = bench_driver_open(NULL, err) };
	if (!k->cu)
		return -1;
	if (BENCH_CU(k->cu, err, cuInit, 0) < 0 ||
	    BENCH_CU(k->cu, err, cuDeviceGet, &k->device, 0) < 0 ||
	    BENCH_CU(k->cu, err, cuDevicePrimaryCtxRetain, &context, k->device) < 0 ||
	    BENCH_CU(k->cu, err, cuCtxSetCurrent, context) < 0 ||
	    load(k, guarded, &module, err) < 0 ||
	    BENCH_CU(k->cu, err, cuModuleGetFunction, &k->function, module, "spin") < 0 ||
	    BENCH_CU(k->cu, err, cuModuleGetFunction, &k->tell, module, "tell") < 0 ||
	    BENCH_CU(k->cu, err, cuStreamCreate, &k->stream, CU_STREAM_NON_BLOCKING) < 0 ||
	    BENCH_CU(k->cu, err, cuDeviceGetAttribute, &sms,
		     CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, k->device) < 0 ||
	    BENCH_CU(k->cu, err, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, k->function,
		     BENCH_THREADS, 0) < 0 ||
	    BENCH_CU(k->cu, err, cuMemAlloc, &k->first, sizeof(uint64_t)) < 0 ||
	    BENCH_CU(k->cu, err, cuMemAlloc, &k->sink, sizeof(float)) < 0)
		return -1;
	k->resident = (uint64_t)sms * (uint64_t)blocks;
	return k->resident ? 0 : gs_fail(err, "the device has no room for a block");
}

int bench_kernel_room(struct bench_kernel *k, uint64_t tasks, struct gs_error *err)
{
	if (tasks == 0 || tasks > INT32_MAX)
		return gs_fail(err, "a launch of %llu block-tasks", (unsigned long long)tasks);
	if (tasks > k->room) {
		if (k->room && (BENCH_CU(k->cu, err, cuMemFree, k->end) < 0 ||
				BENCH_CU(k->cu, err, cuMemFree, k->runs) < 0))
			return -1;
		k->room = 0;
		if (BENCH_CU(k->cu, err, cuMemAlloc, &k->end, tasks * sizeof(uint64_t)) < 0 ||
		    BENCH_CU(k->cu, err, cuMemAlloc, &k->runs, tasks * sizeof(uint32_t)) < 0)
			return -1;
		k->room = tasks;
	}
	k->tasks = tasks;
	k->launches = 0;
	/* The kernel's stream does not wait for the default stream, so the host does. */
	if (BENCH_CU(k->cu, err, cuMemsetD8, k->runs, 0, tasks * sizeof(uint32_t)) < 0)
		return -1;
	return BENCH_CU(k->cu, err, cuStreamSynchronize, NULL);
}

int bench_kernel_launch(struct bench_kernel *k, uint32_t iterations, struct gs_error *err)
{
	void *params[] = { &k->first, &k->end, &k->runs, &k->sink, &iterations };

	k->launches++;
	return BENCH_CU(k->cu, err, cuLaunchKernel, k->function, (unsigned int)k->tasks, 1, 1,
			BENCH_THREADS, 1, 1, 0, k->stream, params, NULL);
}

int bench_kernel_wait(struct bench_kernel *k, struct gs_error *err)
{
	return BENCH_CU(k->cu, err, cuStreamSynchronize, k->stream);
}

/* What one wave takes, ns: the shortest of three launches. */
static int time_wave(struct bench_kernel *k, uint32_t iterations, uint64_t waves, double *ns,
		     struct gs_error *err)
{
	uint64_t shortest = UINT64_MAX;

	if (bench_kernel_room(k, k->resident * waves, err) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		uint64_t began = gs_clock_ns(), took;

		if (bench_kernel_launch(k, iterations, err) < 0 || bench_kernel_wait(k, err) < 0)
			return -1;
		took = gs_clock_ns() - began;
		if (took < shortest)
			shortest = took;
	}
	*ns = (double)shortest / (double)waves;
	return 0;
}

int bench_kernel_calibrate(struct bench_kernel *k, uint64_t task_ns, uint32_t *iterations,
			   uint64_t *wave_ns, struct gs_error *err)
{
	double want = (double)task_ns, short_ns, long_ns, ns = 0;
	uint32_t n = 1;

	/*
	 * Increase the iterations until the launch itself no longer counts; then scale in
	 * proportion, twice.
	 */
	for (; n < ITERATIONS_MAX && ns < want / 2; n *= 2)
		if (time_wave(k, n, CALIBRATION_WAVES, &ns, err) < 0)
			return -1;
	n /= 2;
	for (int i = 0; i < 2; i++) {
		double scaled = n * (want / ns);

		n = scaled < 1 ? 1 : (uint32_t)scaled;
		if (time_wave(k, n, CALIBRATION_WAVES, &ns, err) < 0)
			return -1;
	}
	/* Two lengths, so that what every launch costs drops out. */
	if (time_wave(k, n, CALIBRATION_WAVES, &short_ns, err) < 0 ||
	    time_wave(k, n, (uint64_t)3 * CALIBRATION_WAVES, &long_ns, err) < 0)
		return -1;
	*iterations = n;
	ns = (3 * long_ns - short_ns) / 2;
	/*
	 * A launch costs something, but less than half of the time. Where it does not look so,
	 * something else ran in between.
	 */
	if (!(ns > long_ns / 2 && ns <= long_ns))
		ns = long_ns;
	*wave_ns = ns > 1 ? (uint64_t)ns : 1;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Cut the ends of n block-tasks, sorted by time, into stretches: a new one begins where no block-
 * task ended for longer than pause_ns.
 */
static uint32_t cut(const uint64_t *end, uint64_t n, uint64_t first, uint64_t task_ns,
		    struct bench_stretch *stretch, uint32_t max)
{
	uint64_t pause_ns = 4 * task_ns;
	uint32_t count = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct bench_stretch *last = count ? &stretch[count - 1] : NULL;

		if (last && (end[i] - last->to_ns <= pause_ns || count == max)) {
			last->to_ns = end[i];
			continue;
		}
		/*
		 * If the first block's thread is slow, other blocks have ended before it notes its
		 * beginning.
		 */
		stretch[count].from_ns = last || first > end[i] ? end[i] - task_ns : first;
		stretch[count++].to_ns = end[i];
	}
	return count;
}

int bench_kernel_collect(struct bench_kernel *k, uint64_t task_ns, uint64_t finish_ns,
			 struct bench_stretch *stretch, uint32_t max, uint64_t *wrong,
			 struct gs_error *err)
{
	uint64_t *end = malloc(k->tasks * sizeof(*end)), first = 0;
	uint32_t *runs = malloc(k->tasks * sizeof(*runs));
	int count = -1;

	if (!end || !runs) {
		gs_fail(err, "no memory");
		goto out;
	}
	if (BENCH_CU(k->cu, err, cuMemcpyDtoH, &first, k->first, sizeof(first)) < 0 ||
	    BENCH_CU(k->cu, err, cuMemcpyDtoH, end, k->end, k->tasks * sizeof(*end)) < 0 ||
	    BENCH_CU(k->cu, err, cuMemcpyDtoH, runs, k->runs, k->tasks * sizeof(*runs)) < 0)
		goto out;
	*wrong = 0;
	for (uint64_t i = 0; i < k->tasks; i++)
		*wrong += runs[i] != k->launches;
	qsort(end, k->tasks, sizeof(*end), by_time);
	count = (int)cut(end, k->tasks, first, task_ns, stretch, max);
	/*
	 * The device's clock has another origin than the host's: shift it so that the last end is
	 * the time at which the kernel ended.
	 */
	for (int i = 0; i < count; i++) {
		stretch[i].from_ns += finish_ns - end[k->tasks - 1];
		stretch[i].to_ns += finish_ns - end[k->tasks - 1];
	}
out:
	free(end);
	free(runs);
	return count;
}

int bench_kernel_windows(struct bench_kernel *k, struct bench_window *window, uint32_t windows,
			 struct gs_error *err)
{
	uint64_t *end = malloc(k->tasks * sizeof(*end));
	uint32_t at = 0;
	int rc = -1;

	if (!end)
		return gs_fail(err, "no memory");
	for (uint32_t i = 0; i < windows; i++)
		window[i].last = 0;
	if (windows && BENCH_CU(k->cu, err, cuMemcpyDtoH, end, k->end, k->tasks * sizeof(*end)) < 0)
		goto out;
	/*
	 * Block-tasks end roughly in their order, so the window that fits is never far from the
	 * last one.
	 */
	for (uint64_t i = 0; windows && i < k->tasks; i++) {
		while (at > 0 && end[i] < window[at].from)
			at--;
		while (at + 1 < windows && end[i] > window[at].to)
			at++;
		if (end[i] >= window[at].from && end[i] <= window[at].to &&
		    end[i] > window[at].last)
			window[at].last = end[i];
	}
	rc = 0;
out:
	free(end);
	return rc;
}
