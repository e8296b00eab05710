/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests guards on machine code; see machine_test.h. */
#define _GNU_SOURCE
#include "device/shim/variant/machine_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "device/cubin/cubin.h"
#include "device/ptx/guard.h"
#include "device/shim/context/barrier.h"
#include "device/shim/variant/machine_code.h"

#define THREADS 64
#define GROUP 4 /* must divide: SHIM_MACHINE_LEAVE_AT is a multiple of 2^GROUP */
#define CELLS_AT GS_GUARD_BYTES
#define CELLS_BYTES (SHIM_MACHINE_BLOCKS * sizeof(uint32_t))
#define WAIT_NS (5 * GS_NS_PER_S)

enum state { NOT_YET, UNDER_WAY, RIGHT, WRONG };

/* The guard word W and the cells after each of the two launches. */
struct seen {
	uint64_t word[2];
	uint32_t cells[2][SHIM_MACHINE_BLOCKS];
};

/* One thread at a time. Not a mutex, since the driver is called meanwhile (HACKING.md). */
static _Atomic int taken;
/* What follows belongs to the thread that has set `taken`. */
static enum state state;
static struct shim_context *in; /* the context in which the test runs */
static CUstream stream;
static struct seen *seen;                /* pinned; one for each of CUBIN_GUARD_COUNT guards */
static const char *failed = "no memory"; /* what went wrong last */

static const struct timespec nap = { 0, GS_NS_PER_MS / 5 };

static int ok(CUresult rc, const char *what)
{
	if (rc != CUDA_SUCCESS)
		failed = what;
	return rc == CUDA_SUCCESS;
}

static int launch(CUfunction f, CUdeviceptr area, const struct cubin_guarded *g,
		  const struct gs_guard *guard)
{
	unsigned char params[64] = { 0 };
	CUdeviceptr cells = area + CELLS_AT;
	size_t len = g->param_bytes;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &len,
			  CU_LAUNCH_PARAM_END };

	if (len > sizeof(params))
		return 0;
	memcpy(params, &cells, sizeof(cells));
	memcpy(params + g->param_offset, guard, sizeof(*guard));
	return ok(REAL(cuLaunchKernel)(f, SHIM_MACHINE_BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, NULL,
				       extra),
		  "the launch");
}

/* One launch that finds the order to leave, and one that continues where the first left. */
static int launch_twice(CUfunction f, CUdeviceptr area, const struct cubin_guarded *g,
			struct seen *to)
{
	struct gs_guard guard = { area, 0, g->kind == CUBIN_GUARD_MAXT ? GROUP : 0 };

	for (int n = 0; n < 2; n++) {
		size_t bytes = n ? CELLS_AT : CELLS_AT + CELLS_BYTES;

		guard.base = n ? SHIM_MACHINE_LEAVE_AT : 0;
		if (!ok(REAL(cuMemsetD8Async)(area, 0, bytes, stream), "memory") ||
		    (n == 0 && (!ok(REAL(cuMemsetD32Async)(
					    area, SHIM_MACHINE_LEAVE_AT >> guard.group, 1, stream),
				    "memory") ||
				!ok(REAL(cuMemsetD32Async)(area + GS_GUARD_UPPER_AT,
							   GS_GUARD_LEAVE_UPPER, 1, stream),
				    "memory"))) ||
		    !launch(f, area, g, &guard) ||
		    !ok(REAL(cuMemcpyDtoHAsync_v2)(&to->word[n], area, sizeof(to->word[n]), stream),
			"a copy") ||
		    !ok(REAL(cuMemcpyDtoHAsync_v2)(to->cells[n], area + CELLS_AT, CELLS_BYTES,
						   stream),
			"a copy"))
			return 0;
	}
	return 1;
}

/* The memory and the modules are kept, since the driver waits for everything that runs before it
 * frees them. */
static int begin(void)
{
	CUdeviceptr area;
	int least, greatest;

	if (!ok(REAL(cuMemAlloc_v2)(&area, CELLS_AT + CELLS_BYTES), "memory") ||
	    !ok(REAL(cuMemHostAlloc)((void **)&seen, CUBIN_GUARD_COUNT * sizeof(*seen), 0),
		"memory") ||
	    !ok(REAL(cuCtxGetStreamPriorityRange)(&least, &greatest), "a stream") ||
	    !ok(REAL(cuStreamCreateWithPriority)(&stream, CU_STREAM_NON_BLOCKING, greatest),
		"a stream"))
		return 0;
	for (int kind = 0; kind < CUBIN_GUARD_COUNT; kind++) {
		struct gs_error err = { "" };
		struct cubin_guarded g;
		CUmodule module;
		CUfunction f;
		int is;

		if (cubin_guard_kernel(shim_machine_code, shim_machine_code_size,
				       SHIM_MACHINE_KERNEL, (enum cubin_guard)kind, 0, &g,
				       &err) != 1) {
			failed = "its making";
			return 0;
		}
		is = ok(REAL(cuModuleLoadData)(&module, g.image), "its module") &&
		     ok(REAL(cuModuleGetFunction)(&f, module, SHIM_MACHINE_KERNEL), "its module") &&
		     launch_twice(f, area, &g, &seen[kind]);
		free(g.image);
		if (!is)
			return 0;
	}
	return 1;
}

static int is_right(int kind)
{
	const struct seen *s = &seen[kind];
	uint32_t group = kind == CUBIN_GUARD_MAXT ? GROUP : 0;

	if (s->word[0] != (GS_GUARD_LEAVE | SHIM_MACHINE_LEAVE_AT >> group) ||
	    s->word[1] != SHIM_MACHINE_BLOCKS >> group)
		return 0;
	for (uint32_t i = 0; i < SHIM_MACHINE_BLOCKS; i++)
		if (s->cells[0][i] != (i < SHIM_MACHINE_LEAVE_AT) || s->cells[1][i] != 1)
			return 0;
	return 1;
}

/* Waits for up to `ns`. Returns 1 if the test has ended, 0 if not yet, -1 on an error. */
static int poll_for(uint64_t ns)
{
	uint64_t until = gs_clock_ns() + ns;

	for (;;) {
		CUresult rc = REAL(cuStreamQuery)(stream);

		if (rc == CUDA_SUCCESS)
			return 1;
		if (!ok(rc == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : rc, "its run"))
			return -1;
		if (gs_clock_ns() > until)
			return 0;
		nanosleep(&nap, NULL);
	}
}

static void finish(void)
{
	int rc = poll_for(WAIT_NS);

	if (rc == 0)
		return;
	state = rc > 0 ? RIGHT : WRONG;
	for (int kind = 0; rc > 0 && kind < CUBIN_GUARD_COUNT; kind++)
		if (!is_right(kind)) {
			failed = cubin_guard_name((enum cubin_guard)kind);
			state = WRONG;
		}
	in = NULL;
}

/* The context is current. */
static void try_it(struct shim_context *c)
{
	if (state == NOT_YET) {
		int begun;

		shim_barrier_enter(0);
		begun = begin();
		shim_barrier_leave(0);
		state = begun ? UNDER_WAY : WRONG;
		in = c;
	}
	if (state == UNDER_WAY && in == c)
		finish();
	if (state == WRONG)
		shim_log("no variants of machine code: a guarded kernel of gpushare's own went "
			 "wrong here (%s)",
			 failed);
}

enum ptx_reason shim_machine_works(struct shim_context *c)
{
	CUcontext popped;
	enum state is;

	while (atomic_exchange(&taken, 1))
		nanosleep(&nap, NULL);
	if (state == UNDER_WAY && in->gone)
		state = NOT_YET;
	if ((state == NOT_YET || state == UNDER_WAY) && shim_context_use(c)) {
		if (REAL(cuCtxPushCurrent_v2)(c->ctx) == CUDA_SUCCESS) {
			try_it(c);
			REAL(cuCtxPopCurrent_v2)(&popped);
		}
		shim_context_unuse(c);
	}
	is = state;
	atomic_store(&taken, 0);
	return is == RIGHT ? PTX_REASON_NONE :
	       is == WRONG ? PTX_REASON_MACHINE_DIFFERS :
			     PTX_REASON_NOT_BUILT;
}

/* A test that was under way in the parent is not under way in the child. */
static void forked(void)
{
	atomic_store(&taken, 0);
	if (state == UNDER_WAY)
		state = NOT_YET;
	in = NULL;
}

static void __attribute__((constructor)) add(void)
{
	pthread_atfork(NULL, NULL, forked);
}
