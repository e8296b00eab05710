/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that change which context is current on a thread (context.h); making one (memory_ctx.c)
 * does as well, and a destroyed one is marked as gone.
 */
#define _GNU_SOURCE
#include "device/shim/context.h"
#include "device/shim/loading.h"
#include "device/shim/memory.h"
#include "device/shim/wraps.h"

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

/* These may end the current one; what goes with it they leave as it is (memory_ctx.c has the others). */
SHIM_EXPORT CUresult cuCtxDetach(CUcontext ctx)
{
	shim_context_changes();
	shim_load_gone_context(ctx);
	return SHIM_GATED(REAL(cuCtxDetach)(ctx));
}

SHIM_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx ctx)
{
	CUcontext as = NULL;

	shim_context_changes();
	if (shim_session_peek() && REAL(cuCtxFromGreenCtx)(&as, ctx) == CUDA_SUCCESS)
		shim_load_gone_context(as);
	return SHIM_GATED(REAL(cuGreenCtxDestroy)(ctx));
}
