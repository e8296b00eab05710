/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver calls that make, destroy and capture streams, or make one wait for another; see
 * channels.h. */
#define _GNU_SOURCE
#include "device/shim/context/barrier.h"
#include "device/shim/context/channels.h"
#include "device/shim/context/order.h"
#include "device/shim/base/operations.h"
#include "device/shim/base/wraps.h"
#include "device/shim/session/own_priority.h"

static CUresult made(const CUstream *stream, CUresult rc)
{
	if (rc == CUDA_SUCCESS)
		shim_channel_made(*stream);
	return rc;
}

SHIM_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return made(stream, REAL(cuStreamCreate)(stream, flags));
}

SHIM_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	return made(stream, REAL(cuStreamCreateWithPriority)(stream, flags, priority));
}

SHIM_EXPORT CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx ctx, unsigned int flags,
					    int priority)
{
	CUresult rc;

	shim_barrier_enter(0);
	rc = made(stream, REAL(cuGreenCtxStreamCreate)(stream, ctx, flags, priority));
	shim_barrier_leave(0);
	return rc;
}

static void destroying(CUstream stream)
{
	shim_channel_destroying(stream);
	shim_own_priority_destroying(stream);
	/* before the driver may give the handle to another one */
	atomic_fetch_add(&shim_streams_destroyed, 1);
}

SHIM_EXPORT CUresult cuStreamDestroy(CUstream stream)
{
	destroying(stream);
	return REAL(cuStreamDestroy)(stream);
}

SHIM_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
	destroying(stream);
	return REAL(cuStreamDestroy_v2)(stream);
}

/* ---- what makes one stream wait for another -------------------------------- */

#define WAIT_EVENT(name, of) \
	SHIM_EXPORT CUresult name(CUstream stream, CUevent event, unsigned int flags) \
	{ \
		struct shim_session *s = shim_session_peek(); \
		struct shim_stream *in; \
		CUresult rc; \
		shim_blocked_behind(SHIM_QUEUES_OPERATIONS); \
		if (of == CU_STREAM_PER_THREAD) \
			shim_channels_thread(); \
		in = s ? shim_channel_enter(s, of) : NULL; \
		rc = REAL(name)(stream, event, flags); \
		shim_channel_leave(in); \
		return rc; \
	}

WAIT_EVENT(cuStreamWaitEvent, stream)
WAIT_EVENT(cuStreamWaitEvent_ptsz, (stream ? stream : CU_STREAM_PER_THREAD))

/* ---- captures ---------------------------------------------------------------- */

/* Say so before the driver begins: another thread's launch may follow at once. */
#define BEGIN(name, params, args) \
	SHIM_EXPORT CUresult name params \
	{ \
		shim_say_uncommon(SHIM_UNCOMMON_CAPTURED); \
		shim_channels_capture(); \
		return REAL(name) args; \
	}

BEGIN(cuStreamBeginCapture, (CUstream stream), (stream))
BEGIN(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
BEGIN(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))

#define TO_GRAPH \
	(CUstream stream, CUgraph graph, const CUgraphNode *nodes, const void *edges, size_t n, \
	 CUstreamCaptureMode mode)
BEGIN(cuStreamBeginCaptureToGraph, TO_GRAPH, (stream, graph, nodes, edges, n, mode))
BEGIN(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH, (stream, graph, nodes, edges, n, mode))
