/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking the driver about captures; see capture.h. */
#define _GNU_SOURCE
#include "device/shim/base/capture.h"

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
