/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams, events, and memory operations of streams. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!stream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	*stream = emu_stream_create(ctx, flags, priority);
	return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream)
{
	EMU_TRY(emu_enter_plain());
	if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    !emu_handle_is(stream, EMU_MAGIC_STREAM, "a stream"))
		return CUDA_ERROR_INVALID_HANDLE;
	emu_stream_close(stream);
	return CUDA_SUCCESS;
}

/* The current context, and the stream a handle names. */
static CUresult enter(CUstream handle, struct CUctx_st **ctx, struct CUstream_st **s)
{
	EMU_TRY(emu_enter_any(ctx));
	return emu_stream_resolve(*ctx, handle, s);
}

CUresult CUDAAPI cuStreamQuery(CUstream stream)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;

	EMU_TRY(enter(stream, &ctx, &s));
	EMU_TRY(emu_capture_forbids(s));
	return emu_stream_query(s);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	uint64_t seq;

	EMU_TRY(enter(stream, &ctx, &s));
	EMU_TRY(emu_capture_forbids(s));
	pthread_mutex_lock(&ctx->mutex);
	seq = s->enqueued;
	pthread_mutex_unlock(&ctx->mutex);
	return emu_stream_wait(s, seq);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (!emu_handle_is(event, EMU_MAGIC_EVENT, "an event"))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	t = emu_task_new(EMU_T_WAIT_EVENT);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->event = event;
	return emu_stream_enqueue(s, t, NULL);
}

static CUresult callback(struct CUctx_st *ctx, struct emu_task *t)
{
	((CUstreamCallback)(uintptr_t)t->a)((CUstream)(uintptr_t)t->c, atomic_load(&ctx->error),
					    (void *)(uintptr_t)t->b);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *data,
				     unsigned int flags)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (!fn || flags)
		return CUDA_ERROR_INVALID_VALUE;
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = callback;
	t->node = CU_GRAPH_NODE_TYPE_HOST;
	t->always = 1;
	t->a = (uintptr_t)fn;
	t->b = (uintptr_t)data;
	t->c = (uintptr_t)stream;
	return emu_stream_enqueue(s, t, NULL);
}

#define STREAM_GET(symbol, parameters, out, value) \
	CUresult CUDAAPI symbol parameters \
	{ \
		struct CUctx_st *ctx; \
		struct CUstream_st *s; \
		EMU_TRY(enter(stream, &ctx, &s)); \
		if (!(out)) \
			return CUDA_ERROR_INVALID_VALUE; \
		*(out) = (value); \
		return CUDA_SUCCESS; \
	} \
	CUresult CUDAAPI symbol parameters
STREAM_GET(cuStreamGetCtx, (CUstream stream, CUcontext *out), out, s->ctx);
STREAM_GET(cuStreamGetFlags, (CUstream stream, unsigned int *flags), flags, s->flags);
STREAM_GET(cuStreamGetPriority, (CUstream stream, int *priority), priority, s->priority);
STREAM_GET(cuStreamGetId, (CUstream stream, unsigned long long *id), id, s->id);
STREAM_GET(cuStreamGetDevice, (CUstream stream, CUdevice *device), device, 0);

static CUresult write_value(struct CUctx_st *ctx, struct emu_task *t)
{
	(void)ctx;
	/* after everything earlier in the stream, which is the default; NO_MEMORY_BARRIER permits,
	 * not demands, less */
	if (t->d == 8)
		__atomic_store_n((uint64_t *)(uintptr_t)t->a, t->b, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint32_t *)(uintptr_t)t->a, (uint32_t)t->b, __ATOMIC_SEQ_CST);
	return CUDA_SUCCESS;
}

static CUresult value_task(CUdeviceptr addr, uint64_t value, unsigned int flags, uint32_t size,
			   int wait, struct emu_task **out)
{
	struct emu_range r;
	struct emu_task *t;

	if (addr & (size - 1) || emu_mem_find(emu.mem, addr, size, &r))
		return CUDA_ERROR_INVALID_VALUE;
	if (wait ? (flags & ~(3u | CU_STREAM_WAIT_VALUE_FLUSH)) != 0 : flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	t = emu_task_new(wait ? EMU_T_WAIT_VALUE : EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = wait ? NULL : write_value;
	t->node = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	t->front = 1;
	t->a = addr;
	t->b = value;
	t->c = flags;
	t->d = size;
	t->e = r.kind == EMU_MEM_HOST || r.kind == EMU_MEM_REGISTERED;
	*out = t;
	return CUDA_SUCCESS;
}

static CUresult value_operation(CUstream stream, CUdeviceptr addr, uint64_t value,
				unsigned int flags, uint32_t size, int wait)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	EMU_TRY(value_task(addr, value, flags, size, wait, &t));
	return emu_stream_enqueue(s, t, NULL);
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
					 unsigned int flags)
{
	return value_operation(stream, addr, value, flags, 4, 0);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
					 unsigned int flags)
{
	return value_operation(stream, addr, value, flags, 8, 0);
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
					unsigned int flags)
{
	return value_operation(stream, addr, value, flags, 4, 1);
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
					unsigned int flags)
{
	return value_operation(stream, addr, value, flags, 8, 1);
}

/* All or none: every operation is checked before the first is enqueued. */
CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream stream, unsigned int n,
				       CUstreamBatchMemOpParams *ops, unsigned int flags)
{
	struct emu_task *first = NULL, **tail = &first, *t;
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	CUresult rc = CUDA_SUCCESS;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (flags || !ops || n > 256)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n && rc == CUDA_SUCCESS; i++) {
		const struct CUstreamMemOpValueParams_gs *v = &ops[i].waitValue;

		t = NULL;
		switch (ops[i].operation) {
		case CU_STREAM_MEM_OP_WAIT_VALUE_32:
			rc = value_task(v->address, v->value, v->flags, 4, 1, &t);
			break;
		case CU_STREAM_MEM_OP_WAIT_VALUE_64:
			rc = value_task(v->address, v->value64, v->flags, 8, 1, &t);
			break;
		case CU_STREAM_MEM_OP_WRITE_VALUE_32:
			rc = value_task(v->address, v->value, v->flags, 4, 0, &t);
			break;
		case CU_STREAM_MEM_OP_WRITE_VALUE_64:
			rc = value_task(v->address, v->value64, v->flags, 8, 0, &t);
			break;
		case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		case CU_STREAM_MEM_OP_BARRIER:
			break;
		default:
			rc = CUDA_ERROR_INVALID_VALUE;
		}
		if (rc == CUDA_SUCCESS && t) {
			*tail = t;
			tail = &t->next;
		}
	}
	while (first) {
		t = first;
		first = t->next;
		t->next = NULL;
		if (rc == CUDA_SUCCESS)
			rc = emu_stream_enqueue(s, t, NULL);
		else
			free(t);
	}
	return rc;
}

#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamBatchMemOp
EMU_ALIAS(cuStreamWriteValue32, cuStreamWriteValue32_v2);
EMU_ALIAS(cuStreamWriteValue64, cuStreamWriteValue64_v2);
EMU_ALIAS(cuStreamWaitValue32, cuStreamWaitValue32_v2);
EMU_ALIAS(cuStreamWaitValue64, cuStreamWaitValue64_v2);
EMU_ALIAS(cuStreamBatchMemOp, cuStreamBatchMemOp_v2);

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!event || flags > 7)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS)
		return CUDA_ERROR_NOT_SUPPORTED;
	*event = emu_event_create(ctx, flags);
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult check(const struct CUevent_st *ev)
{
	EMU_TRY(emu_enter_plain());
	return emu_handle_is(ev, EMU_MAGIC_EVENT, "an event") ? CUDA_SUCCESS :
								CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event)
{
	struct CUctx_st *ctx;

	EMU_TRY(check(event));
	ctx = event->ctx;
	pthread_mutex_lock(&ctx->mutex);
	event->capture_id = 0;
	event->magic = EMU_MAGIC_GONE;
	emu_event_release(event);
	pthread_mutex_unlock(&ctx->mutex);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(check(event));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (event->ctx != s->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	t = emu_task_new(EMU_T_RECORD);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->event = event;
	t->always = 1;
	return emu_stream_enqueue(s, t, NULL);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	return flags > 1 ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(event, stream);
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
	CUresult rc;

	EMU_TRY(check(event));
	pthread_mutex_lock(&event->ctx->mutex);
	rc = event->done < event->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
	pthread_mutex_unlock(&event->ctx->mutex);
	if (atomic_load(&event->ctx->error))
		rc = atomic_load(&event->ctx->error);
	return rc;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
	struct CUctx_st *ctx;
	uint64_t want;

	EMU_TRY(check(event));
	ctx = event->ctx;
	pthread_mutex_lock(&ctx->mutex);
	event->refs++;
	want = event->recorded;
	while (event->done < want)
		pthread_cond_wait(&ctx->changed, &ctx->mutex);
	emu_event_release(event);
	pthread_mutex_unlock(&ctx->mutex);
	return atomic_load(&ctx->error);
}

#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	CUresult rc = CUDA_SUCCESS;

	EMU_TRY(check(start));
	EMU_TRY(check(end));
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (start->ctx != end->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !start->recorded ||
	    !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&start->ctx->mutex);
	if (start->done < start->recorded || end->done < end->recorded)
		rc = CUDA_ERROR_NOT_READY;
	else
		*ms = (float)((double)(int64_t)(end->when_ns - start->when_ns) / 1e6);
	pthread_mutex_unlock(&start->ctx->mutex);
	return rc;
}

EMU_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);
