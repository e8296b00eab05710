/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that copy memory.  They keep the barrier rule as the calls that are only forwarded do
 * (entries.def), and are counted.  Not counted: those of CUDA 3.1 with addresses of 32 bits, whose
 * symbols have no _v2, cuMemcpy3DBatchAsync, and what a graph copies.
 */
#define _GNU_SOURCE
#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/base/wraps.h"
#include "device/shim/context/barrier.h"
#include "device/shim/copy/count.h"

/*
 * COPY: `way` and `bytes` are expressions of the parameters; waits: 1 if the call is over when the
 * copy is; legacy: what it waits for before it enters the driver (barrier.h), as entries.def says.
 */
#define COPY(name, params, args, way, bytes, waits, legacy) \
	SHIM_EXPORT CUresult name params \
	{ \
		uint64_t since_; \
		CUresult rc_; \
		shim_barrier_enter(legacy); \
		since_ = (waits) ? gs_clock_ns() : 0; \
		rc_ = REAL(name) args; \
		shim_barrier_leave(legacy); \
		if (rc_ == CUDA_SUCCESS) \
			shim_copy_count(way, bytes, since_); \
		return rc_; \
	}
#define SYNC(name, suffix, params, args, way, bytes) \
	COPY(name##suffix, params, args, way, bytes, 1, 1) \
	COPY(name##suffix##_ptds, params, args, way, bytes, 1, 1)
#define ASYNC(name, suffix, params, args, way, bytes) \
	COPY(name##suffix, params, args, way, bytes, 0, 1) \
	COPY(name##suffix##_ptsz, params, args, way, bytes, 0, 1)

/* ---- one dimension ----------------------------------------------------------- */

#define ADDRESSES (CUdeviceptr dst, CUdeviceptr src, size_t bytes)
COPY(cuMemcpy, ADDRESSES, (dst, src, bytes), shim_copy_between(dst, src, bytes), bytes, 1, 0)
COPY(cuMemcpy_ptds, ADDRESSES, (dst, src, bytes), shim_copy_between(dst, src, bytes), bytes, 1, 1)
ASYNC(cuMemcpyAsync, , (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
      (dst, src, bytes, stream), shim_copy_between(dst, src, bytes), bytes)
SYNC(cuMemcpyHtoD, _v2, (CUdeviceptr dst, const void *src, size_t bytes), (dst, src, bytes),
     GS_COPY_TO_DEVICE, bytes)
SYNC(cuMemcpyDtoH, _v2, (void *dst, CUdeviceptr src, size_t bytes), (dst, src, bytes),
     GS_COPY_TO_HOST, bytes)
SYNC(cuMemcpyDtoD, _v2, ADDRESSES, (dst, src, bytes), GS_COPY_OTHER, bytes)
ASYNC(cuMemcpyHtoDAsync, _v2, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
      (dst, src, bytes, stream), GS_COPY_TO_DEVICE, bytes)
ASYNC(cuMemcpyDtoHAsync, _v2, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
      (dst, src, bytes, stream), GS_COPY_TO_HOST, bytes)
ASYNC(cuMemcpyDtoDAsync, _v2, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
      (dst, src, bytes, stream), GS_COPY_OTHER, bytes)

/* ---- arrays -------------------------------------------------------------------- */

SYNC(cuMemcpyAtoA, _v2, (CUarray dst, size_t to, CUarray src, size_t from, size_t bytes),
     (dst, to, src, from, bytes), GS_COPY_OTHER, bytes)
SYNC(cuMemcpyAtoD, _v2, (CUdeviceptr dst, CUarray src, size_t from, size_t bytes),
     (dst, src, from, bytes), GS_COPY_OTHER, bytes)
SYNC(cuMemcpyDtoA, _v2, (CUarray dst, size_t to, CUdeviceptr src, size_t bytes),
     (dst, to, src, bytes), GS_COPY_OTHER, bytes)
SYNC(cuMemcpyHtoA, _v2, (CUarray dst, size_t to, const void *src, size_t bytes),
     (dst, to, src, bytes), GS_COPY_TO_DEVICE, bytes)
SYNC(cuMemcpyAtoH, _v2, (void *dst, CUarray src, size_t from, size_t bytes),
     (dst, src, from, bytes), GS_COPY_TO_HOST, bytes)
ASYNC(cuMemcpyHtoAAsync, _v2,
      (CUarray dst, size_t to, const void *src, size_t bytes, CUstream stream),
      (dst, to, src, bytes, stream), GS_COPY_TO_DEVICE, bytes)
ASYNC(cuMemcpyAtoHAsync, _v2, (void *dst, CUarray src, size_t from, size_t bytes, CUstream stream),
      (dst, src, from, bytes, stream), GS_COPY_TO_HOST, bytes)

/* ---- two and three dimensions ----------------------------------------------- */

SYNC(cuMemcpy2D, _v2, (const CUDA_MEMCPY2D *copy), (copy), shim_copy_of_plane(copy),
     shim_copy_plane_bytes(copy))
SYNC(cuMemcpy2DUnaligned, _v2, (const CUDA_MEMCPY2D *copy), (copy), shim_copy_of_plane(copy),
     shim_copy_plane_bytes(copy))
ASYNC(cuMemcpy2DAsync, _v2, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream),
      shim_copy_of_plane(copy), shim_copy_plane_bytes(copy))
SYNC(cuMemcpy3D, _v2, (const CUDA_MEMCPY3D *copy), (copy), shim_copy_of_box(copy),
     shim_copy_box_bytes(copy))
ASYNC(cuMemcpy3DAsync, _v2, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream),
      shim_copy_of_box(copy), shim_copy_box_bytes(copy))

/* ---- between contexts, several at once -------------------------------------- */

#define PEERS CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes
SYNC(cuMemcpyPeer, , (PEERS), (dst, to, src, from, bytes), GS_COPY_OTHER, bytes)
ASYNC(cuMemcpyPeerAsync, , (PEERS, CUstream stream), (dst, to, src, from, bytes, stream),
      GS_COPY_OTHER, bytes)
SYNC(cuMemcpy3DPeer, , (const CUDA_MEMCPY3D *copy), (copy), GS_COPY_OTHER,
     shim_copy_box_bytes(copy))
ASYNC(cuMemcpy3DPeerAsync, , (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream),
      GS_COPY_OTHER, shim_copy_box_bytes(copy))

#define ATTRIBUTES \
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes, void *attributes, CUstream stream)
COPY(cuMemcpyWithAttributesAsync, ATTRIBUTES, (dst, src, bytes, attributes, stream),
     shim_copy_between(dst, src, bytes), bytes, 0, 0)
COPY(cuMemcpyWithAttributesAsync_ptsz, ATTRIBUTES, (dst, src, bytes, attributes, stream),
     shim_copy_between(dst, src, bytes), bytes, 0, 0)

static void count_batch(const CUdeviceptr *dst, const CUdeviceptr *src, const size_t *bytes,
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		shim_copy_count(shim_copy_between(dst[i], src[i], bytes[i]), bytes[i], 0);
}

#define BATCH_PARAMS \
	CUdeviceptr *dst, CUdeviceptr *src, size_t *bytes, size_t n, void *attributes, size_t *of, \
		size_t nattributes
#define BATCH(name, params, args) \
	SHIM_EXPORT CUresult name params \
	{ \
		CUresult rc_; \
		shim_barrier_enter(1); \
		rc_ = REAL(name) args; \
		shim_barrier_leave(1); \
		if (rc_ == CUDA_SUCCESS) \
			count_batch(dst, src, bytes, n); \
		return rc_; \
	}
BATCH(cuMemcpyBatchAsync, (BATCH_PARAMS, size_t *failed, CUstream stream),
      (dst, src, bytes, n, attributes, of, nattributes, failed, stream))
BATCH(cuMemcpyBatchAsync_ptsz, (BATCH_PARAMS, size_t *failed, CUstream stream),
      (dst, src, bytes, n, attributes, of, nattributes, failed, stream))
BATCH(cuMemcpyBatchAsync_v2, (BATCH_PARAMS, CUstream stream),
      (dst, src, bytes, n, attributes, of, nattributes, stream))
BATCH(cuMemcpyBatchAsync_v2_ptsz, (BATCH_PARAMS, CUstream stream),
      (dst, src, bytes, n, attributes, of, nattributes, stream))
