/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream-ordered allocation. A pool keeps freed memory for its next allocations, so memory stays
 * charged until the pool has returned it to the device; the driver says how much a pool has. When
 * the reservation is exhausted the pools are told to return all that is not in use.
 *
 * Programs allocate and free thousands of times a second, so the driver is asked as rarely as
 * possible. The charge is at least what the pool has, so it is compared only now and then, and when
 * the reservation is exhausted.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/barrier.h"
#include "device/shim/memory/charge.h"
#include "device/shim/base/wraps.h"

/*
 * When memory is freed into a pool, the driver is asked at most this often how much the pool has.
 */
#define SETTLE_NS (UINT64_C(10) * 1000 * 1000)

struct pool {
	struct pool *next;
	struct pool *into; /* the record that has all that was counted here; NULL: this one */
	/* NULL: the driver does not say which pool it is, or no longer answers for it */
	CUmemoryPool handle;
	/* the driver is being asked to destroy it; until it refuses, the pool has no handle */
	int ends;
	/* threads that use its handle to ask the driver; the pool is not destroyed meanwhile */
	unsigned int requested;
	uint64_t live;       /* bytes allocated from it and not freed */
	uint64_t charged;    /* bytes charged to the step for it, at least `live` */
	uint64_t settled_ns; /* when the driver was last asked how much it has, ns */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool *pools; /* under lock; records are never freed */

static struct pool *find(CUmemoryPool handle)
{
	struct pool *p = pools;

	while (p && (p->handle != handle || p->ends || p->into))
		p = p->next;
	return p;
}

static struct pool *pool_of(CUmemoryPool handle)
{
	struct pool *p = find(handle);

	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	p->handle = handle;
	p->next = pools;
	pools = p;
	return p;
}

/* How much device memory the pool has, bytes; `otherwise` if the driver does not answer. */
static uint64_t reserved_by(CUmemoryPool handle, uint64_t otherwise)
{
	cuuint64_t bytes = 0;

	if (handle && REAL(cuMemPoolGetAttribute)(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
						  &bytes) == CUDA_SUCCESS)
		return bytes;
	return otherwise;
}

/* The record that counts this pool's memory now; under lock. */
static struct pool *counted_in(struct pool *p)
{
	while (p->into)
		p = p->into;
	return p;
}

/* Its handle, with which the driver may be asked until done_requesting(), or NULL. Under lock. */
static CUmemoryPool begin_requesting(struct pool *p)
{
	if (p->handle)
		p->requested++;
	return p->handle;
}

static void done_requesting(struct pool *p, CUmemoryPool handle)
{
	if (handle)
		p->requested--;
}

/* Returns the charge for what the pool has returned to the device. */
static void settle(struct shim_session *s, struct pool *p)
{
	uint64_t has, back = 0;
	CUmemoryPool handle;

	pthread_mutex_lock(&lock);
	handle = begin_requesting(p);
	pthread_mutex_unlock(&lock);
	has = reserved_by(handle, 0);
	pthread_mutex_lock(&lock);
	done_requesting(p, handle);
	if (p->ends) /* the destruction is under way: settle afterwards */
		has = p->charged;
	if (has < p->live)
		has = p->live;
	if (p->charged > has) {
		back = p->charged - has;
		p->charged = has;
	}
	pthread_mutex_unlock(&lock);
	shim_uncharge(s, back);
}

static void trim_idle(struct pool *p)
{
	CUmemoryPool handle;

	pthread_mutex_lock(&lock);
	handle = begin_requesting(p);
	pthread_mutex_unlock(&lock);
	if (handle)
		REAL(cuMemPoolTrimTo)(handle, 0);
	pthread_mutex_lock(&lock);
	done_requesting(p, handle);
	pthread_mutex_unlock(&lock);
}

void shim_pools_settle(struct shim_session *s, int trim)
{
	struct pool *p;

	pthread_mutex_lock(&lock);
	p = pools;
	pthread_mutex_unlock(&lock);
	for (; p; p = p->next) {
		int idle;

		pthread_mutex_lock(&lock);
		idle = p->charged > p->live;
		pthread_mutex_unlock(&lock);
		if (idle && trim)
			trim_idle(p);
		if (idle)
			settle(s, p);
	}
}

void shim_pool_freed(struct shim_session *s, void *pool, uint64_t bytes)
{
	struct pool *p = pool;

	uint64_t now = gs_clock_ns();
	int due;

	pthread_mutex_lock(&lock);
	p = counted_in(p);
	p->live -= bytes < p->live ? bytes : p->live;
	/* without a handle the driver is not asked */
	due = !p->handle || now - p->settled_ns >= SETTLE_NS;
	if (due)
		p->settled_ns = now;
	pthread_mutex_unlock(&lock);
	if (due)
		settle(s, p);
}

/* Reserves room for one more allocation in the pool, and charges what the pool does not have.
 * Returns 0 if that is beyond the reservation. */
static int pool_takes(struct shim_session *s, struct pool *p, uint64_t bytes)
{
	uint64_t want, more = 0;

	pthread_mutex_lock(&lock);
	p = counted_in(p);
	if (__builtin_add_overflow(p->live, bytes, &want))
		want = UINT64_MAX;
	else if (want <= p->charged)
		p->live = want;
	if (want > p->charged)
		more = want - p->charged;
	pthread_mutex_unlock(&lock);
	if (!more)
		return 1;
	/* Other threads may allocate or free meanwhile; what is charged belongs to the pool in any
	 * case. */
	if (!shim_charge(s, more))
		return 0;
	pthread_mutex_lock(&lock);
	p = counted_in(p);
	p->charged += more;
	p->live += bytes;
	if (p->live > p->charged) { /* another thread has used the room that this one counted on */
		more = p->live - p->charged;
		p->live -= bytes;
		pthread_mutex_unlock(&lock);
		if (!shim_charge(s, more))
			return 0;
		pthread_mutex_lock(&lock);
		p = counted_in(p);
		p->charged += more;
		p->live += bytes;
	}
	pthread_mutex_unlock(&lock);
	return 1;
}

/* A graph's allocations are counted with the graph (graph/calls.c). */
static int is_captured(CUstream stream, int per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult rc;

	if (!shim_capture_used())
		return 0;
	rc = per_thread ? REAL(cuStreamIsCapturing_ptsz)(stream, &status) :
			  REAL(cuStreamIsCapturing)(stream, &status);
	return rc == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* One allocation, from before the driver is asked until it has answered. */
struct allocation {
	struct shim_session *s;
	struct pool *pool; /* NULL: not counted */
	uint64_t bytes;
};

/* handle NULL: from the current device's pool. Returns 0; -1: beyond the reservation. */
static int begin(struct allocation *a, CUmemoryPool handle, uint64_t bytes, CUstream stream,
		 int per_thread)
{
	*a = (struct allocation) { shim_session(), NULL, bytes };
	shim_blocked_behind(SHIM_QUEUES_OPERATIONS);
	if (!a->s || is_captured(stream, per_thread))
		return 0;
	if (!handle)
		handle = shim_current_pool();
	pthread_mutex_lock(&lock);
	a->pool = pool_of(handle);
	pthread_mutex_unlock(&lock);
	return a->pool && pool_takes(a->s, a->pool, bytes) ? 0 : -1;
}

static CUresult end(const struct allocation *a, CUresult rc, const CUdeviceptr *ptr)
{
	if (a->pool && rc == CUDA_SUCCESS)
		shim_charge_record(a->s, SHIM_CHARGE_POINTER, *ptr, a->bytes, NULL, a->pool);
	else if (a->pool)
		shim_pool_freed(a->s, a->pool, a->bytes);
	return rc;
}

SHIM_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	struct allocation a;

	if (begin(&a, NULL, bytes, stream, 0) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return end(&a, REAL(cuMemAllocAsync)(ptr, bytes, stream), ptr);
}

SHIM_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	struct allocation a;

	if (begin(&a, NULL, bytes, stream, 1) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return end(&a, REAL(cuMemAllocAsync_ptsz)(ptr, bytes, stream), ptr);
}

SHIM_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
					     CUstream stream)
{
	struct allocation a;

	if (begin(&a, pool, bytes, stream, 0) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return end(&a, REAL(cuMemAllocFromPoolAsync)(ptr, bytes, pool, stream), ptr);
}

SHIM_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
						  CUstream stream)
{
	struct allocation a;

	if (begin(&a, pool, bytes, stream, 1) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return end(&a, REAL(cuMemAllocFromPoolAsync_ptsz)(ptr, bytes, pool, stream), ptr);
}

SHIM_EXPORT CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	shim_blocked_behind(SHIM_QUEUES_OPERATIONS);
	return SHIM_UNCOUNTED(SHIM_CHARGE_POINTER, ptr, REAL(cuMemFreeAsync)(ptr, stream));
}

SHIM_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr ptr, CUstream stream)
{
	shim_blocked_behind(SHIM_QUEUES_OPERATIONS);
	return SHIM_UNCOUNTED(SHIM_CHARGE_POINTER, ptr, REAL(cuMemFreeAsync_ptsz)(ptr, stream));
}

static void inspect(CUmemoryPool handle)
{
	struct shim_session *s = shim_session_peek();
	struct pool *p;

	pthread_mutex_lock(&lock);
	p = find(handle);
	if (p)
		p->settled_ns = gs_clock_ns();
	pthread_mutex_unlock(&lock);
	if (s && p)
		settle(s, p);
}

SHIM_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	CUresult rc = REAL(cuMemPoolTrimTo)(pool, keep);

	inspect(pool);
	return rc;
}

/* Waits until no thread asks the driver about the pool; under lock, which is released while it
 * sleeps. */
static void wait_for_others(const struct pool *p)
{
	static const struct timespec nap = { 0, 20000 };
	uint64_t from = gs_clock_ns();

	while (p->requested && !shim_in_vain(from)) {
		pthread_mutex_unlock(&lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&lock);
	}
}

/*
 * The driver has refused to destroy the pool, so its handle is valid again. Another thread may have
 * allocated from the pool meanwhile and made a second record. The two are merged, since otherwise
 * each would keep as much as the driver says that the pool has. Returns the remaining record.
 */
static struct pool *restore_handle(struct pool *p, CUmemoryPool handle)
{
	struct pool *other = find(handle);

	if (!other) {
		p->handle = handle;
		return p;
	}
	other->live += p->live;
	other->charged += p->charged;
	p->live = p->charged = 0;
	p->into = other;
	return other;
}

/*
 * Allocations from a destroyed pool stay valid, but the driver no longer says how much it has. The
 * handle is forgotten before the call: another thread's new pool may get the same handle, and no
 * thread may use it for this pool any more.
 */
SHIM_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct shim_session *s = shim_session_peek();
	struct pool *p;
	CUresult rc;

	if (!s)
		return REAL(cuMemPoolDestroy)(pool);
	pthread_mutex_lock(&lock);
	p = pool ? find(pool) : NULL;
	if (p) {
		p->handle = NULL;
		p->ends = 1;
		wait_for_others(p);
	}
	pthread_mutex_unlock(&lock);
	shim_current_pool_unknown();
	rc = REAL(cuMemPoolDestroy)(pool);
	shim_current_pool_unknown();
	if (!p)
		return rc;
	pthread_mutex_lock(&lock);
	p->ends = 0;
	if (rc != CUDA_SUCCESS)
		p = restore_handle(p, pool);
	pthread_mutex_unlock(&lock);
	settle(s, p);
	return rc;
}

void shim_pools_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	pools = NULL;
	shim_current_pool_forked();
}
