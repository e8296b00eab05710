/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that copy memory.  They keep the barrier rule as the calls that are only forwarded do
 * (entries.def), and are counted.  Not counted: those of CUDA 3.1 with addresses of 32 bits, whose
 * symbols have no _v2, and cuMemcpy3DBatchAsync.  What graphs copy is counted in graph/graph.c.
 */
#define _GNU_SOURCE
#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/base/wraps.h"
#include "device/shim/context/barrier.h"
#include "device/shim/copy/chunks.h"

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

/*
 * These may be cut.  in: the stream that the call means; call: its arguments for a chunk, in which
 * `to` and `from` are where that goes and comes from.
 */
#define ADDRESS(p) ((CUdeviceptr)(uintptr_t)(p))
#define TO_HOST(at) ((void *)(uintptr_t)(at))
#define FROM_HOST(at) ((const void *)(uintptr_t)(at))
#define LINE(name, params, direction, in, is_waiting, is_legacy, call) \
	static CUresult part_##name(const struct shim_copy *c, size_t at, size_t n) \
	{ \
		CUdeviceptr to = c->dst + at, from = c->src + at; \
		return REAL(name) call; \
	} \
	SHIM_EXPORT CUresult name params \
	{ \
		struct shim_copy c_ = { .part = part_##name, \
					.dst = ADDRESS(dst), \
					.src = ADDRESS(src), \
					.stream = in, \
					.waits = is_waiting, \
					.legacy = is_legacy, \
					.way = direction, \
					.units = bytes, \
					.unit_bytes = 1 }; \
		return shim_copy_make(&c_); \
	}
#define SYNC_LINE(name, params, direction, legacy, call) \
	LINE(name, params, direction, NULL, 1, legacy, call) \
	LINE(name##_ptds, params, direction, CU_STREAM_PER_THREAD, 1, 1, call)
#define ASYNC_LINE(name, params, direction, call) \
	LINE(name, params, direction, stream, 0, 1, call) \
	LINE(name##_ptsz, params, direction, stream ? stream : CU_STREAM_PER_THREAD, 0, 1, call)

#define ADDRESSES (CUdeviceptr dst, CUdeviceptr src, size_t bytes)
SYNC_LINE(cuMemcpy, ADDRESSES, shim_copy_between(dst, src, bytes), 0, (to, from, n))
SYNC_LINE(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t bytes), GS_COPY_TO_DEVICE, 1,
	  (to, FROM_HOST(from), n))
SYNC_LINE(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t bytes), GS_COPY_TO_HOST, 1,
	  (TO_HOST(to), from, n))
ASYNC_LINE(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
	   shim_copy_between(dst, src, bytes), (to, from, n, c->stream))
ASYNC_LINE(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
	   GS_COPY_TO_DEVICE, (to, FROM_HOST(from), n, c->stream))
ASYNC_LINE(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
	   GS_COPY_TO_HOST, (TO_HOST(to), from, n, c->stream))
SYNC(cuMemcpyDtoD, _v2, ADDRESSES, (dst, src, bytes), GS_COPY_OTHER, bytes)
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

/* These, too.  of: plane or box; type: of the call's description; parts: gives that of a chunk. */
#define BOX(name, params, args, of, type, parts, in, is_waiting, call) \
	static CUresult part_##name(const struct shim_copy *c, size_t from, size_t n) \
	{ \
		type is = parts(c, from, n); \
		return REAL(name) call; \
	} \
	SHIM_EXPORT CUresult name params \
	{ \
		struct shim_copy c_ = { \
			.part = part_##name, .stream = in, .waits = is_waiting, .legacy = 1 \
		}; \
		if (!copy) \
			return REAL(name) args; \
		shim_copy_##of(&c_, copy); \
		return shim_copy_make(&c_); \
	}
#define SYNC_BOX(name, of, type, parts) \
	BOX(name, (const type *copy), (copy), of, type, parts, NULL, 1, (&is)) \
	BOX(name##_ptds, (const type *copy), (copy), of, type, parts, CU_STREAM_PER_THREAD, 1, \
	    (&is))
#define ASYNC_BOX(name, of, type, parts) \
	BOX(name, (const type *copy, CUstream stream), (copy, stream), of, type, parts, stream, 0, \
	    (&is, c->stream)) \
	BOX(name##_ptsz, (const type *copy, CUstream stream), (copy, stream), of, type, parts, \
	    stream ? stream : CU_STREAM_PER_THREAD, 0, (&is, c->stream))

SYNC_BOX(cuMemcpy2D_v2, plane, CUDA_MEMCPY2D, shim_copy_rows)
SYNC_BOX(cuMemcpy2DUnaligned_v2, plane, CUDA_MEMCPY2D, shim_copy_rows)
ASYNC_BOX(cuMemcpy2DAsync_v2, plane, CUDA_MEMCPY2D, shim_copy_rows)
SYNC_BOX(cuMemcpy3D_v2, box, CUDA_MEMCPY3D, shim_copy_layers)
ASYNC_BOX(cuMemcpy3DAsync_v2, box, CUDA_MEMCPY3D, shim_copy_layers)

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
