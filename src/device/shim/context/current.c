/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Driver calls that change which context is current on a thread (context.h). Making a context
 * (memory/contexts.c) does so as well; a destroyed one is marked as gone. */
#define _GNU_SOURCE
#include "device/shim/context/barrier.h"
#include "device/shim/context/context.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/base/wraps.h"

SHIM_EXPORT CUresult cuCtxSetCurrent(CUcontext ctx)
{
	shim_context_changes();
	return REAL(cuCtxSetCurrent)(ctx);
}

SHIM_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	shim_context_changes();
	return REAL(cuCtxPushCurrent_v2)(ctx);
}

SHIM_EXPORT CUresult cuCtxPushCurrent(CUcontext ctx)
{
	shim_context_changes();
	return REAL(cuCtxPushCurrent)(ctx);
}

SHIM_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	shim_context_changes();
	return REAL(cuCtxPopCurrent_v2)(ctx);
}

SHIM_EXPORT CUresult cuCtxPopCurrent(CUcontext *ctx)
{
	shim_context_changes();
	return REAL(cuCtxPopCurrent)(ctx);
}

/* ---- calls that may end a context and do not return charges (memory/contexts.c has the others)
 * ---- */

/* Call this before the driver: it may give the context's handle to a new context before the call
 * returns. */
static void begin_destroy(struct shim_session *s, CUcontext ctx)
{
	shim_upcalls->reap(s);
	shim_barrier_enter(0);
	shim_context_gone(ctx);
}

static CUresult end_destroy(CUcontext ctx, CUresult rc)
{
	shim_barrier_leave(0);
	if (rc != CUDA_SUCCESS) {
		shim_context_stays(ctx);
		return rc;
	}
	shim_context_destroyed(ctx);
	return rc;
}

/* Attaches to the current context, which may have no record yet. */
SHIM_EXPORT CUresult cuCtxAttach(CUcontext *ctx, unsigned int flags)
{
	struct shim_session *s = shim_session();
	CUresult rc = SHIM_IN_BARRIER(REAL(cuCtxAttach)(ctx, flags));

	if (rc == CUDA_SUCCESS && s && shim_context_current(s))
		shim_context_attached(*ctx, 1);
	return rc;
}

SHIM_EXPORT CUresult cuCtxDetach(CUcontext ctx)
{
	struct shim_session *s = shim_session_peek();
	CUresult rc;

	shim_context_changes();
	if (!s || !ctx)
		return SHIM_IN_BARRIER(REAL(cuCtxDetach)(ctx));
	if (!shim_context_attached(ctx, -1)) {
		begin_destroy(s, ctx);
		return end_destroy(ctx, REAL(cuCtxDetach)(ctx));
	}
	rc = SHIM_IN_BARRIER(REAL(cuCtxDetach)(ctx));
	if (rc != CUDA_SUCCESS)
		shim_context_attached(ctx, 1);
	return rc;
}

SHIM_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
	struct shim_session *s = shim_session_peek();
	CUcontext ctx = NULL;

	shim_context_changes();
	if (!s || REAL(cuCtxFromGreenCtx)(&ctx, green) != CUDA_SUCCESS || !ctx)
		return SHIM_IN_BARRIER(REAL(cuGreenCtxDestroy)(green));
	begin_destroy(s, ctx);
	return end_destroy(ctx, REAL(cuGreenCtxDestroy)(green));
}
