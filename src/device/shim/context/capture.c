/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has this process ever captured a stream into a graph?  What is launched there goes to the driver
 * as it is. */
#define _GNU_SOURCE
#include "device/shim/context/channels.h"
#include "device/shim/base/wraps.h"

int shim_capturing(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return shim_capture_used() && REAL(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void shim_capture_relax(CUstreamCaptureMode *was)
{
	*was = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (REAL(cuThreadExchangeStreamCaptureMode)(was) != CUDA_SUCCESS)
		*was = CU_STREAM_CAPTURE_MODE_RELAXED;
}

void shim_capture_restore(CUstreamCaptureMode was)
{
	if (was != CU_STREAM_CAPTURE_MODE_RELAXED)
		REAL(cuThreadExchangeStreamCaptureMode)(&was);
}

/* Said before the driver begins: another thread's launch may follow at once. */
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
