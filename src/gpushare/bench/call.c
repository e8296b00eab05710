/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one call of the driver takes on the host; see kernel.h. */
#define _GNU_SOURCE
#include "common/clock.h"
#include "gpushare/bench/kernel.h"

#define LAUNCHES_PER_WAIT 16
#define BYTES (1u << 20)

static int time_launches(struct bench_kernel *k, uint32_t iterations, uint32_t count,
			 struct bench_sample *sample, struct gs_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		sample[i].launch_ns = gs_clock_ns();
		if (bench_kernel_launch(k, iterations, err) < 0)
			return -1;
		sample[i].finish_ns = gs_clock_ns();
		if ((i + 1) % LAUNCHES_PER_WAIT == 0 && bench_kernel_wait(k, err) < 0)
			return -1;
	}
	return bench_kernel_wait(k, err);
}

static int time_memory(struct bench_kernel *k, uint32_t count, struct bench_sample *sample,
		       struct gs_error *err)
{
	for (uint32_t i = 0; i + 1 < count; i += 2) {
		CUdeviceptr p;

		sample[i].launch_ns = gs_clock_ns();
		if (BENCH_CU(k->cu, err, cuMemAlloc, &p, BYTES) < 0)
			return -1;
		sample[i].finish_ns = gs_clock_ns();
		sample[i + 1].launch_ns = gs_clock_ns();
		if (BENCH_CU(k->cu, err, cuMemFree, p) < 0)
			return -1;
		sample[i + 1].finish_ns = gs_clock_ns();
	}
	return 0;
}

int bench_kernel_calls(struct bench_kernel *k, enum bench_call call, uint32_t iterations,
		       uint32_t count, struct bench_sample *sample, struct gs_error *err)
{
	return call == BENCH_CALL_LAUNCH ? time_launches(k, iterations, count, sample, err)
		: time_memory(k, count, sample, err);
}
