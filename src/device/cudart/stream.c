/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams and events. */
#define _GNU_SOURCE
#include "device/cudart/rt.h"

cudaError_t rt_StreamCreate(CUstream *stream)
{
	DRV_RETURN(DRV(cuStreamCreate)(stream, CU_STREAM_DEFAULT));
}

cudaError_t rt_StreamCreateWithFlags(CUstream *stream, unsigned int flags)
{
	DRV_RETURN(DRV(cuStreamCreate)(stream, flags));
}

cudaError_t rt_StreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	DRV_RETURN(DRV(cuStreamCreateWithPriority)(stream, flags, priority));
}

cudaError_t rt_StreamDestroy(CUstream stream)
{
	DRV_RETURN(DRV(cuStreamDestroy_v2)(stream));
}

cudaError_t rt_StreamSynchronize(CUstream stream)
{
	DRV_RETURN(DRV(cuStreamSynchronize)(rt_stream(stream)));
}

cudaError_t rt_StreamQuery(CUstream stream)
{
	DRV_RETURN(DRV(cuStreamQuery)(rt_stream(stream)));
}

cudaError_t rt_StreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	DRV_RETURN(DRV(cuStreamWaitEvent)(rt_stream(stream), event, flags));
}

/* A status is handed to the callback: the values of both enumerations are the same. */
cudaError_t rt_StreamAddCallback(CUstream stream, CUstreamCallback fn, void *data,
				 unsigned int flags)
{
	DRV_RETURN(DRV(cuStreamAddCallback)(rt_stream(stream), fn, data, flags));
}

cudaError_t rt_StreamGetFlags(CUstream stream, unsigned int *flags)
{
	DRV_RETURN(DRV(cuStreamGetFlags)(rt_stream(stream), flags));
}

cudaError_t rt_StreamGetPriority(CUstream stream, int *priority)
{
	DRV_RETURN(DRV(cuStreamGetPriority)(rt_stream(stream), priority));
}

cudaError_t rt_StreamGetId(CUstream stream, unsigned long long *id)
{
	DRV_RETURN(DRV(cuStreamGetId)(rt_stream(stream), id));
}

cudaError_t rt_StreamGetDevice(CUstream stream, int *device)
{
	DRV_RETURN(DRV(cuStreamGetDevice)(rt_stream(stream), device));
}

cudaError_t rt_EventCreate(CUevent *event)
{
	DRV_RETURN(DRV(cuEventCreate)(event, CU_EVENT_DEFAULT));
}

cudaError_t rt_EventCreateWithFlags(CUevent *event, unsigned int flags)
{
	DRV_RETURN(DRV(cuEventCreate)(event, flags));
}

cudaError_t rt_EventDestroy(CUevent event)
{
	DRV_RETURN(DRV(cuEventDestroy_v2)(event));
}

cudaError_t rt_EventRecord(CUevent event, CUstream stream)
{
	DRV_RETURN(DRV(cuEventRecord)(event, rt_stream(stream)));
}

cudaError_t rt_EventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	DRV_RETURN(DRV(cuEventRecordWithFlags)(event, rt_stream(stream), flags));
}

cudaError_t rt_EventQuery(CUevent event)
{
	DRV_RETURN(DRV(cuEventQuery)(event));
}

cudaError_t rt_EventSynchronize(CUevent event)
{
	DRV_RETURN(DRV(cuEventSynchronize)(event));
}

cudaError_t rt_EventElapsedTime(float *ms, CUevent start, CUevent end)
{
	DRV_RETURN(DRV(cuEventElapsedTime)(ms, start, end));
}
