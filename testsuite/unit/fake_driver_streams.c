/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams and events of the recording driver. */
#define _GNU_SOURCE
#include "fake_driver_core.h"

#include <stdio.h>

static CUresult fake_range(int *least, int *greatest)
{
	*least = 0;
	*greatest = -1;
	return CUDA_SUCCESS;
}

static CUresult fake_stream(CUstream *stream, unsigned int flags, int priority)
{
	(void)flags;
	*stream = (CUstream)(uintptr_t)(priority < 0 ? 0x10 : 0x20);
	return CUDA_SUCCESS;
}

static CUresult fake_stream_destroy(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

static CUresult fake_stream_flags(CUstream stream, unsigned int *flags)
{
	*flags = stream == FAKE_BLOCKING ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
	return CUDA_SUCCESS;
}

static CUresult fake_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static _Atomic int busy;

void fake_driver_busy(int is)
{
	busy = is;
}

static CUresult fake_write(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int flags)
{
	char name[32];

	(void)flags;
	if (!busy)
		__atomic_store_n((uint32_t *)(uintptr_t)at, value, __ATOMIC_SEQ_CST);
	snprintf(name, sizeof(name), "write%s%u",
		 (uintptr_t)stream == 0x10 ? "-control-" :
		 (uintptr_t)stream == 0x20 ? "-relaunch-" :
					     "-",
		 value);
	return fake_called_in(name, stream);
}

static CUresult fake_batch(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *op,
			   unsigned int flags)
{
	char name[32];

	(void)flags;
	for (unsigned int i = 0; i < n; i++) {
		void *at = (void *)(uintptr_t)op[i].writeValue.address;

		if (op[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
			*(uint64_t *)at = op[i].writeValue.value64;
		else
			*(uint32_t *)at = op[i].writeValue.value;
		if ((uintptr_t)stream != 0x10)
			continue;
		snprintf(name, sizeof(name), "write-control-%u", op[i].writeValue.value);
		fake_called(name);
	}
	return (uintptr_t)stream == 0x10 ? CUDA_SUCCESS : fake_called_in("batch", stream);
}

/* An event's handle is the number of its context among those that had this handle. */
static _Atomic uintptr_t generation = 1;
static _Atomic unsigned int stale;
static _Atomic int events;

void fake_driver_reuse(void)
{
	generation++;
	events = 0;
}

unsigned int fake_driver_stale(void)
{
	return stale;
}

int fake_driver_events(void)
{
	return events;
}

static CUresult with_event(CUevent event)
{
	stale += (uintptr_t)event != generation;
	return CUDA_SUCCESS;
}

static CUresult fake_event(CUevent *event, unsigned int flags)
{
	(void)flags;
	*event = (CUevent)generation;
	events++;
	return CUDA_SUCCESS;
}

static CUresult fake_event_destroy(CUevent event)
{
	events--;
	return with_event(event);
}

static _Atomic float takes_ms;
static _Atomic unsigned int timed;

void fake_driver_takes(float ms)
{
	takes_ms = ms;
}

unsigned int fake_driver_timed(void)
{
	return timed;
}

static _Atomic int late;

void fake_driver_late(int times)
{
	late = times;
}

static CUresult fake_elapsed(float *ms, CUevent begin, CUevent end)
{
	if (late > 0) {
		late--;
		return CUDA_ERROR_NOT_READY;
	}
	*ms = takes_ms;
	timed++;
	with_event(begin);
	return with_event(end);
}

static _Atomic unsigned int recorded;

unsigned int fake_driver_recorded(void)
{
	return recorded;
}

static CUresult fake_record(CUevent event, CUstream stream)
{
	with_event(event);
	recorded++;
	return (uintptr_t)stream == 0x10 ? fake_called_in("record-control", stream) : CUDA_SUCCESS;
}

static _Atomic int before_events;

void fake_driver_before_events(int at_work)
{
	before_events = at_work;
}

static CUresult fake_event_query(CUevent event)
{
	with_event(event);
	return before_events ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult fake_wait_event(CUstream stream, CUevent event, unsigned int flags)
{
	(void)event, (void)flags;
	return (uintptr_t)stream == 0x20 ? fake_called_in("await-relaunch", stream) : CUDA_SUCCESS;
}

static CUresult fake_wait(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int flags)
{
	(void)at, (void)value, (void)flags;
	return fake_called_in("wait", stream);
}

static CUresult fake_stream_context(CUstream stream, CUcontext *ctx)
{
	(void)stream;
	return fake_current(ctx);
}

void fake_streams_install(void)
{
	FAKE_PUT(cuCtxGetStreamPriorityRange, fake_range);
	FAKE_PUT(cuStreamCreateWithPriority, fake_stream);
	FAKE_PUT(cuStreamDestroy_v2, fake_stream_destroy);
	FAKE_PUT(cuStreamGetFlags, fake_stream_flags);
	FAKE_PUT(cuStreamIsCapturing, fake_capturing);
	FAKE_PUT(cuStreamWriteValue32_v2, fake_write);
	FAKE_PUT(cuStreamBatchMemOp_v2, fake_batch);
	FAKE_PUT(cuStreamWaitValue32_v2, fake_wait);
	FAKE_PUT(cuEventCreate, fake_event);
	FAKE_PUT(cuEventDestroy_v2, fake_event_destroy);
	FAKE_PUT(cuEventElapsedTime_v2, fake_elapsed);
	FAKE_PUT(cuEventRecord, fake_record);
	FAKE_PUT(cuEventQuery, fake_event_query);
	FAKE_PUT(cuStreamWaitEvent, fake_wait_event);
	FAKE_PUT(cuStreamGetCtx, fake_stream_context);
}
