/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one call of the driver takes on the host; see kernel.h. */
#define _GNU_SOURCE
#include "common/clock.h"
#include "gpushare/bench/kernel.h"

#define LAUNCHES_PER_WAIT \
	17 /* odd, so that of two kinds of calls that alternate each comes first \
	    * after a wait equally often */
#define BYTES (1u << 20)

/* `other` launches every second one. */
static int time_launches(struct bench_kernel *k, const struct bench_driver *other,
			 uint32_t iterations, uint32_t count, struct bench_sample *sample,
			 struct gs_error *err)
{
	const struct bench_driver *own = k->cu;
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		k->cu = i % 2 ? other : own;
		sample[i].launch_ns = gs_clock_ns();
		rc = bench_kernel_launch(k, iterations, err);
		sample[i].finish_ns = gs_clock_ns();
		k->cu = own;
		if (rc == 0 && (i + 1) % LAUNCHES_PER_WAIT == 0)
			rc = bench_kernel_wait(k, err);
	}
	return rc < 0 ? rc : bench_kernel_wait(k, err);
}

/* `other` makes every second pair of calls. */
static int time_memory(const struct bench_kernel *k, const struct bench_driver *other,
		       uint32_t count, struct bench_sample *sample, struct gs_error *err)
{
	for (uint32_t i = 0; i + 1 < count; i += 2) {
		const struct bench_driver *cu = i / 2 % 2 ? other : k->cu;
		CUdeviceptr p;

		sample[i].launch_ns = gs_clock_ns();
		if (BENCH_CU(cu, err, cuMemAlloc, &p, BYTES) < 0)
			return -1;
		sample[i].finish_ns = gs_clock_ns();
		sample[i + 1].launch_ns = gs_clock_ns();
		if (BENCH_CU(cu, err, cuMemFree, p) < 0)
			return -1;
		sample[i + 1].finish_ns = gs_clock_ns();
	}
	return 0;
}

/* `other` makes every second one. */
static int time_copies(struct bench_kernel *k, const struct bench_driver *other, uint32_t count,
		       struct bench_sample *sample, struct gs_error *err)
{
	CUdeviceptr p;
	void *host;

	if (BENCH_CU(k->cu, err, cuMemAlloc, &p, 4) < 0 ||
	    BENCH_CU(k->cu, err, cuMemHostAlloc, &host, 4, 0) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		const struct bench_driver *cu = i % 2 ? other : k->cu;

		sample[i].launch_ns = gs_clock_ns();
		if (BENCH_CU(cu, err, cuMemcpyHtoDAsync, p, host, 4, k->stream) < 0)
			return -1;
		sample[i].finish_ns = gs_clock_ns();
		if ((i + 1) % LAUNCHES_PER_WAIT == 0 && bench_kernel_wait(k, err) < 0)
			return -1;
	}
	if (bench_kernel_wait(k, err) < 0 || BENCH_CU(k->cu, err, cuMemFreeHost, host) < 0)
		return -1;
	return BENCH_CU(k->cu, err, cuMemFree, p);
}

int bench_kernel_calls(struct bench_kernel *k, enum bench_call call, uint32_t iterations,
		       uint32_t count, struct bench_sample *sample, struct gs_error *err)
{
	const struct bench_driver *other = k->cu;

	if (call != BENCH_CALL_LAUNCH)
		other = bench_driver_beneath(k->cu, err);
	if (!other)
		return -1;
	if (call == BENCH_CALL_COPY)
		return time_copies(k, other, count, sample, err);
	return call == BENCH_CALL_MEMORY ? time_memory(k, other, count, sample, err) :
					   time_launches(k, other, iterations, count, sample, err);
}
