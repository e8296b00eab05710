/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts: what one costs (ContextMemory in gpushare.conf), the limits that make it grow, and its
 * end, which frees everything that was allocated in it. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "common/saturate.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/context.h"
#include "device/shim/memory/charge.h"
#include "device/shim/memory/local.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/base/wraps.h"

#define DEVICES_MAX 64

/* How often the program has retained each device's primary context without releasing it, as far as
 * the shim has seen. */
static _Atomic unsigned int retained[DEVICES_MAX];

static _Atomic unsigned int *retained_of(CUdevice dev)
{
	static _Atomic unsigned int none;

	return dev >= 0 && dev < DEVICES_MAX ? &retained[dev] : &none;
}

static int is_active(CUdevice dev)
{
	unsigned int flags = 0;
	int active = 0;

	return REAL(cuDevicePrimaryCtxGetState)(dev, &flags, &active) == CUDA_SUCCESS && active;
}

static uint64_t cost(void)
{
	struct shim_session *s = shim_session();

	return s ? s->context_memory : 0;
}

/* The new context becomes the current one. */
#define CREATE(call) \
	(shim_context_changes(), \
	 SHIM_COUNTED(SHIM_CHARGE_CONTEXT, cost(), call, (uintptr_t)*ctx, *ctx))

SHIM_EXPORT CUresult cuCtxCreate(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	return CREATE(REAL(cuCtxCreate)(ctx, flags, dev));
}

SHIM_EXPORT CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	return CREATE(REAL(cuCtxCreate_v2)(ctx, flags, dev));
}

SHIM_EXPORT CUresult cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int n,
				    unsigned int flags, CUdevice dev)
{
	return CREATE(REAL(cuCtxCreate_v3)(ctx, params, n, flags, dev));
}

SHIM_EXPORT CUresult cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags,
				    CUdevice dev)
{
	return CREATE(REAL(cuCtxCreate_v4)(ctx, params, flags, dev));
}

SHIM_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	struct shim_session *s = shim_session();
	uint64_t bytes;
	CUresult rc;

	if (!s)
		return REAL(cuDevicePrimaryCtxRetain)(ctx, dev);
	bytes = is_active(dev) ? 0 : s->context_memory;
	if (!shim_charge(s, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = REAL(cuDevicePrimaryCtxRetain)(ctx, dev);
	if (rc != CUDA_SUCCESS) {
		shim_uncharge(s, bytes);
		return rc;
	}
	if (bytes)
		shim_charge_record(s, SHIM_CHARGE_CONTEXT, (uintptr_t)*ctx, bytes, *ctx, NULL);
	atomic_fetch_add(retained_of(dev), 1);
	return rc;
}

/* Forgets the context before the driver is asked to destroy it: the driver may give its handle and
 * its addresses to another thread before the call returns. */
static struct shim_held *begin_destroy(CUcontext ctx)
{
	shim_context_gone(ctx);
	return shim_take_context(ctx);
}

static void end_destroy(struct shim_session *s, CUcontext ctx, struct shim_held *held, int is_gone)
{
	if (is_gone)
		shim_context_destroyed(ctx);
	else
		shim_context_stays(ctx);
	shim_taken(s, held, is_gone);
}

static CUresult destroy(CUcontext ctx, CUresult (*real)(CUcontext))
{
	struct shim_session *s = shim_session_peek();
	struct shim_held *held;
	CUresult rc;

	if (!s || !ctx)
		return SHIM_IN_BARRIER(real(ctx));
	shim_upcalls->reap(s); /* a launch cannot be measured without its context */
	shim_barrier_enter(0);
	held = begin_destroy(ctx);
	rc = real(ctx);
	shim_barrier_leave(0);
	end_destroy(s, ctx, held, rc == CUDA_SUCCESS);
	return rc;
}

SHIM_EXPORT CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	return destroy(ctx, REAL(cuCtxDestroy_v2));
}

SHIM_EXPORT CUresult cuCtxDestroy(CUcontext ctx)
{
	return destroy(ctx, REAL(cuCtxDestroy));
}

/*
 * The device's primary context, if it has one, and its id (0: the driver knows none). The driver is
 * asked rather than remembering what was retained last: that context may be gone and its handle
 * reused, and not every retain passes through the shim.
 */
static CUcontext primary_of(CUdevice dev, unsigned long long *id)
{
	CUcontext ctx = NULL;

	*id = 0;
	if (!is_active(dev) || REAL(cuDevicePrimaryCtxRetain)(&ctx, dev) != CUDA_SUCCESS)
		return NULL;
	REAL(cuCtxGetId)(ctx, id);
	REAL(cuDevicePrimaryCtxRelease_v2)(dev);
	return ctx;
}

/* Is it still the same context? Another thread may have retained a new one with the same handle
 * already. */
static int is_still(CUdevice dev, CUcontext ctx, unsigned long long id)
{
	unsigned long long now;

	return primary_of(dev, &now) == ctx && now == id;
}

/* Counts one retain less before the driver is called, so that a thread that comes meanwhile finds
 * that its release is the last. Returns the count before. */
static unsigned int unretain(CUdevice dev)
{
	unsigned int n = *retained_of(dev);

	while (n && !atomic_compare_exchange_weak(retained_of(dev), &n, n - 1))
		;
	return n;
}

static CUresult reset(CUdevice dev, CUresult (*real)(CUdevice))
{
	struct shim_session *s = shim_session_peek();
	struct shim_held *held = NULL;
	unsigned long long id;
	CUcontext ctx;
	CUresult rc;

	if (s)
		shim_upcalls->reap(s);
	shim_barrier_enter(0);
	ctx = s ? primary_of(dev, &id) : NULL;
	if (ctx)
		held = begin_destroy(ctx);
	rc = real(dev);
	if (rc == CUDA_SUCCESS)
		*retained_of(dev) = 0;
	shim_barrier_leave(0);
	if (ctx)
		end_destroy(s, ctx, held, rc == CUDA_SUCCESS);
	return rc;
}

SHIM_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	return reset(dev, REAL(cuDevicePrimaryCtxReset_v2));
}

SHIM_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	return reset(dev, REAL(cuDevicePrimaryCtxReset));
}

/* The last release destroys the context, unless it was also retained in a way that the shim did not
 * see. */
static CUresult release(CUdevice dev, CUresult (*real)(CUdevice))
{
	struct shim_session *s = shim_session_peek();
	struct shim_held *held = NULL;
	unsigned long long id;
	unsigned int before;
	CUcontext ctx;
	int last;
	CUresult rc;

	if (s)
		shim_upcalls->reap(s);
	shim_barrier_enter(0);
	ctx = s ? primary_of(dev, &id) : NULL;
	before = unretain(dev);
	last = ctx && before <= 1;
	if (last)
		held = begin_destroy(ctx);
	rc = real(dev);
	if (rc != CUDA_SUCCESS && before)
		atomic_fetch_add(retained_of(dev), 1);
	if (ctx && !last && !is_active(dev)) {
		held = begin_destroy(ctx);
		last = 1;
	}
	if (last)
		end_destroy(s, ctx, held, rc == CUDA_SUCCESS && !is_still(dev, ctx, id));
	shim_barrier_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	return release(dev, REAL(cuDevicePrimaryCtxRelease_v2));
}

SHIM_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return release(dev, REAL(cuDevicePrimaryCtxRelease));
}

/* ---- limits ------------------------------------------------------------------ */

/* The device memory that this value of the limit makes a context use, bytes. */
static uint64_t limit_bytes(CUlimit limit, size_t value)
{
	uint64_t each = 1, bytes;

	if (limit == CU_LIMIT_STACK_SIZE)
		each = shim_resident_threads();
	else if (limit != CU_LIMIT_MALLOC_HEAP_SIZE && limit != CU_LIMIT_PRINTF_FIFO_SIZE)
		return 0;
	return __builtin_mul_overflow(each, value, &bytes) ? UINT64_MAX : bytes;
}

static CUresult set_limit(CUcontext ctx, CUlimit limit, size_t value)
{
	CUresult rc;

	shim_barrier_enter(0);
	rc = REAL(cuCtxSetLimit)(limit, value);
	/* Do this before the barrier opens: a preemptible launch afterwards would go by the old
	 * value. */
	if (limit == CU_LIMIT_STACK_SIZE)
		shim_context_local_unknown(ctx);
	shim_barrier_leave(0);
	return rc;
}

/* Raising a limit is charged with what it grows by; the original value is part of the context's
 * charge. Lowering it returns no more than was charged. */
SHIM_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct shim_session *s = shim_session();
	CUcontext ctx = s ? shim_current() : NULL;
	uint64_t had = 0, before, after, want;
	enum shim_charge_kind kind;
	size_t now = 0;
	CUresult rc;

	after = ctx ? limit_bytes(limit, value) : 0;
	if (!after || REAL(cuCtxGetLimit)(&now, limit) != CUDA_SUCCESS)
		return set_limit(ctx, limit, value);
	before = limit_bytes(limit, now);
	kind = (enum shim_charge_kind)(SHIM_CHARGE_LIMIT + (int)limit);
	shim_unhold(kind, (uintptr_t)ctx, &had, NULL);
	if (after > before)
		want = gs_add_saturated(had, after - before);
	else
		want = had > before - after ? had - (before - after) : 0;
	if (want > had && !shim_charge(s, want - had)) {
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		rc = set_limit(ctx, limit, value);
		if (rc == CUDA_SUCCESS && want < had)
			shim_uncharge(s, had - want);
		if (rc != CUDA_SUCCESS && want > had)
			shim_uncharge(s, want - had);
		if (rc == CUDA_SUCCESS)
			had = want;
	}
	if (had)
		shim_charge_record(s, kind, (uintptr_t)ctx, had, ctx, NULL);
	return rc;
}

/* ---- what the program is told -------------------------------------------------- */

/* Reports what the step may still allocate, and its reservation as the total. */
SHIM_EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	CUresult rc = REAL(cuMemGetInfo_v2)(free_bytes, total);
	size_t there_free = 0, there_total = 0;
	struct shim_session *s = shim_session();
	uint64_t used = 0, reservation = 0;

	/* The driver decides whether one of the pointers may be NULL; the other one then gets the
	 * step's value. */
	if (rc != CUDA_SUCCESS || !s || (!free_bytes && !total))
		return rc;
	if (free_bytes && total) {
		there_free = *free_bytes;
		there_total = *total;
	} else if (REAL(cuMemGetInfo_v2)(&there_free, &there_total) != CUDA_SUCCESS) {
		return rc;
	}
	shim_pools_settle(s, 0);
	if (!s->connected || gs_client_alloc(s->client, 0, &used, &reservation) < 0) {
		used = s->used;
		reservation = s->reservation;
	}
	if (reservation && reservation < there_total) {
		uint64_t left = reservation > used ? reservation - used : 0;

		if (total)
			*total = reservation;
		if (free_bytes)
			*free_bytes = left < there_free ? left : there_free;
	}
	return rc;
}

SHIM_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	CUresult rc = REAL(cuDeviceTotalMem_v2)(bytes, dev);
	struct shim_session *s = shim_session();

	if (rc == CUDA_SUCCESS && s && bytes && s->reservation && s->reservation < *bytes)
		*bytes = s->reservation;
	return rc;
}
