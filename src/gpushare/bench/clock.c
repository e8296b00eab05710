/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device's clock against the host's. The host asks the device for its time again and again,
 * through memory that both see. The device read its clock between the question and the answer's
 * arrival, so the quickest of many answers tells the difference best.
 */
#define _GNU_SOURCE
#include "gpushare/bench/kernel.h"

#include <string.h>

#include "common/clock.h"

#define ROUNDS 64u
#define PATIENCE_NS (2 * GS_NS_PER_S) /* the kernel's own is one second */

/* What both see. */
struct board {
	_Atomic uint64_t told[ROUNDS + 1];
	_Atomic uint32_t request;
};

static int request_all(struct board *board, struct bench_clock *best, struct gs_error *err)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;

	best->error_ns = UINT64_MAX;
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint64_t requested = gs_clock_ns(), device, answered;

		atomic_store(&board->request, i);
		while (!(device = atomic_load(&board->told[i])))
			if (gs_clock_ns() > until) /* few answers do, on a busy host */
				return i > 1 ? 0 :
					       gs_fail(err, "the device does not tell the time");
		answered = gs_clock_ns();
		if (answered - requested < 2 * best->error_ns)
			*best = (struct bench_clock) { requested + (answered - requested) / 2,
						       device, (answered - requested + 1) / 2 };
	}
	return 0;
}

int bench_kernel_clock(struct bench_kernel *k, struct bench_clock *clock, struct gs_error *err)
{
	uint32_t rounds = ROUNDS;
	CUdeviceptr request, told;
	void *params[] = { &request, &told, &rounds };
	struct board *board = NULL;
	int rc;

	if (BENCH_CU(k->cu, err, cuMemHostAlloc, (void **)&board, sizeof(*board),
		     CU_MEMHOSTALLOC_DEVICEMAP) < 0)
		return -1;
	memset(board, 0, sizeof(*board));
	rc = BENCH_CU(k->cu, err, cuMemHostGetDevicePointer, &told, board, 0);
	if (rc == 0) {
		request = told + offsetof(struct board, request);
		rc = BENCH_CU(k->cu, err, cuLaunchKernel, k->tell, 1, 1, 1, 1, 1, 1, 0, k->stream,
			      params, NULL);
	}
	if (rc == 0) {
		rc = request_all(board, clock, err);
		if (bench_kernel_wait(k, rc < 0 ? &(struct gs_error) { "" } : err) < 0)
			rc = -1;
	}
	k->cu->cuMemFreeHost(board);
	return rc;
}
