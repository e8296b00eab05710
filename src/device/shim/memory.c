/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory: every allocation is granted by the daemon's ledger before
 * the driver is asked (seed 003, section 4; DESIGN.md, "Memory reservation").
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "device/shim/context.h"
#include "device/shim/wraps.h"

#define BUCKETS 4096

/* What a handle or an address holds, so that freeing it returns as much. */
struct holding {
	uint64_t key;
	uint64_t bytes;
	CUcontext ctx;
	struct holding *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct holding *bucket[BUCKETS]; /* under lock */

static size_t slot_of(uint64_t key)
{
	return (size_t)((key >> 8) * UINT64_C(0x9E3779B97F4A7C15) >> 52);
}

/* 1: the driver may be asked; 0: beyond the reservation. */
static int charge(struct shim_session *s, uint64_t bytes)
{
	int granted;

	if (s->turned_away)
		return 0;
	granted = s->connected ? gs_client_alloc(s->client, bytes, NULL, NULL) : -1;

	/* Without a daemon this process at least keeps to its own bound. */
	if (granted < 0)
		granted = !s->reservation ||
			  (s->used <= s->reservation && bytes <= s->reservation - s->used);
	if (granted)
		atomic_fetch_add(&s->used, bytes);
	return granted;
}

static void uncharge(struct shim_session *s, uint64_t bytes)
{
	atomic_fetch_sub(&s->used, bytes);
	gs_client_free(s->client, bytes);
}

static void hold(struct shim_session *s, uint64_t key, uint64_t bytes)
{
	struct holding *h = malloc(sizeof(*h));

	if (!h) {
		uncharge(s, bytes);
		return;
	}
	h->key = key;
	h->bytes = bytes;
	h->ctx = NULL;
	REAL(cuCtxGetCurrent)(&h->ctx);
	pthread_mutex_lock(&lock);
	h->next = bucket[slot_of(key)];
	bucket[slot_of(key)] = h;
	pthread_mutex_unlock(&lock);
}

static uint64_t unhold(uint64_t key)
{
	struct holding *h = NULL;
	uint64_t bytes = 0;

	pthread_mutex_lock(&lock);
	for (struct holding **at = &bucket[slot_of(key)]; *at; at = &(*at)->next) {
		if ((*at)->key != key)
			continue;
		h = *at;
		*at = h->next;
		break;
	}
	pthread_mutex_unlock(&lock);
	if (h)
		bytes = h->bytes;
	free(h);
	return bytes;
}

/* The context is gone (NULL: all of them): what was allocated in it is free. */
static void unhold_context(struct shim_session *s, CUcontext ctx)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct holding **at = &bucket[i]; *at;) {
			struct holding *h = *at;

			if (ctx && h->ctx != ctx) {
				at = &h->next;
				continue;
			}
			*at = h->next;
			bytes += h->bytes;
			free(h);
		}
	}
	pthread_mutex_unlock(&lock);
	if (bytes)
		uncharge(s, bytes);
}

/*
 * One allocation: charge `bytes`, do `call` (which sets rc), remember `key`
 * or return the charge.
 */
#define COUNTED(bytes, call, key) \
	do { \
		struct shim_session *s_ = shim_session(); \
		CUresult rc; \
		if (!s_) \
			return call; \
		if (!charge(s_, (bytes))) \
			return CUDA_ERROR_OUT_OF_MEMORY; \
		rc = call; \
		if (rc == CUDA_SUCCESS) \
			hold(s_, (uint64_t)(key), (bytes)); \
		else \
			uncharge(s_, (bytes)); \
		return rc; \
	} while (0)

/* One release: do `call`, then return what `key` held. */
#define UNCOUNTED(key, call) \
	do { \
		struct shim_session *s_ = shim_session_peek(); \
		uint64_t bytes_; \
		CUresult rc = call; \
		if (s_ && rc == CUDA_SUCCESS && (bytes_ = unhold((uint64_t)(key)))) \
			uncharge(s_, bytes_); \
		return rc; \
	} while (0)

SHIM_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	COUNTED(bytes, REAL(cuMemAlloc_v2)(ptr, bytes), *ptr);
}

SHIM_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width,
					size_t height, unsigned int element)
{
	/* The driver pads each row to its pitch, which is a multiple of 512. */
	size_t row = (width + 511) & ~(size_t)511;

	COUNTED(row * height, REAL(cuMemAllocPitch_v2)(ptr, pitch, width, height, element), *ptr);
}

SHIM_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	COUNTED(bytes, REAL(cuMemAllocManaged)(ptr, bytes, flags), *ptr);
}

SHIM_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	COUNTED(bytes, REAL(cuMemAllocAsync)(ptr, bytes, stream), *ptr);
}

SHIM_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	COUNTED(bytes, REAL(cuMemAllocAsync_ptsz)(ptr, bytes, stream), *ptr);
}

SHIM_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
					     CUstream stream)
{
	COUNTED(bytes, REAL(cuMemAllocFromPoolAsync)(ptr, bytes, pool, stream), *ptr);
}

SHIM_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t bytes,
						  CUmemoryPool pool, CUstream stream)
{
	COUNTED(bytes, REAL(cuMemAllocFromPoolAsync_ptsz)(ptr, bytes, pool, stream), *ptr);
}

SHIM_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
				 const CUmemAllocationProp *prop, unsigned long long flags)
{
	COUNTED(size, REAL(cuMemCreate)(handle, size, prop, flags), *handle);
}

static CUresult gated_free(CUdeviceptr ptr)
{
	CUresult rc;

	shim_gate_enter(0);
	rc = REAL(cuMemFree_v2)(ptr);
	shim_gate_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	UNCOUNTED(ptr, gated_free(ptr));
}

SHIM_EXPORT CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	UNCOUNTED(ptr, REAL(cuMemFreeAsync)(ptr, stream));
}

SHIM_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr ptr, CUstream stream)
{
	UNCOUNTED(ptr, REAL(cuMemFreeAsync_ptsz)(ptr, stream));
}

SHIM_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	UNCOUNTED(handle, REAL(cuMemRelease)(handle));
}

/* What the program may still have, and what it may have in all, are the step's. */
SHIM_EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	CUresult rc = REAL(cuMemGetInfo_v2)(free_bytes, total);
	struct shim_session *s = shim_session();
	uint64_t used = 0, reservation = 0;

	if (rc != CUDA_SUCCESS || !s || !free_bytes || !total)
		return rc;
	if (!s->connected || gs_client_alloc(s->client, 0, &used, &reservation) < 0) {
		used = s->used;
		reservation = s->reservation;
	}
	if (reservation && reservation < *total) {
		uint64_t left = reservation > used ? reservation - used : 0;

		*total = reservation;
		*free_bytes = left < *free_bytes ? left : *free_bytes;
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

SHIM_EXPORT CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	struct shim_session *s = shim_session_peek();
	CUresult rc;

	shim_gate_enter(0);
	shim_context_gone(ctx);
	rc = REAL(cuCtxDestroy_v2)(ctx);
	shim_gate_leave(0);
	if (rc == CUDA_SUCCESS && s)
		unhold_context(s, ctx);
	return rc;
}

SHIM_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct shim_session *s = shim_session_peek();
	CUresult rc;

	shim_gate_enter(0);
	shim_context_gone(NULL);
	rc = REAL(cuDevicePrimaryCtxReset_v2)(dev);
	shim_gate_leave(0);
	if (rc == CUDA_SUCCESS && s)
		unhold_context(s, NULL);
	return rc;
}

SHIM_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct shim_session *s = shim_session_peek();
	unsigned int flags = 0;
	int active = 1;
	CUresult rc;

	shim_gate_enter(0);
	rc = REAL(cuDevicePrimaryCtxRelease_v2)(dev);
	if (rc == CUDA_SUCCESS && s &&
	    REAL(cuDevicePrimaryCtxGetState)(dev, &flags, &active) == CUDA_SUCCESS && !active) {
		shim_context_gone(NULL);
		unhold_context(s, NULL);
	}
	shim_gate_leave(0);
	return rc;
}
