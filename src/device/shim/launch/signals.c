/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the agent carries orders to leave to the GPU; see signals.h. */
#define _GNU_SOURCE
#include "device/shim/launch/signals.h"

#include "common/log.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/fault.h"
#include "device/shim/variant/transforms.h"

void shim_evictor_leave(struct shim_evictor *e)
{
	if (e->in)
		shim_context_unuse(e->in);
	e->in = NULL;
}

int shim_evictor_enter(struct shim_evictor *e, struct shim_context *c)
{
	CUstreamCaptureMode mode;
	CUresult rc;

	if (e->in != c) {
		shim_evictor_leave(e);
		if (!shim_context_use(c))
			return -1;
		e->in = c;
	}
	if (e->current != c) {
		rc = REAL(cuCtxSetCurrent)(c->ctx);
		shim_fault_seen(c, rc);
		if (rc != CUDA_SUCCESS)
			return -1;
		/* never restored, since this thread makes no calls of the program's */
		shim_capture_relax(&mode);
		e->current = c;
	}
	return 0;
}

/* Sets the limits by copies from pinned memory instead (FRS, section III-A). */
static CUresult copy_limits(const struct shim_evictor *e)
{
	CUresult rc = CUDA_SUCCESS;

	for (unsigned int i = 0; i < e->nlimit && rc == CUDA_SUCCESS; i++) {
		uint32_t *word = e->limit_ctx->word;

		while (*word != e->limit[i].writeValue.value)
			word++;
		rc = REAL(cuMemcpyHtoDAsync_v2)(e->limit[i].writeValue.address, word, sizeof(*word),
						e->limit_ctx->control);
	}
	return rc;
}

CUresult shim_signals_flush(struct shim_evictor *e)
{
	CUresult rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;

	if (!e->nlimit)
		return CUDA_SUCCESS;
	if (shim_evictor_enter(e, e->limit_ctx) == 0)
		rc = e->session->signal == GS_SIGNAL_DMA && e->limit_ctx->word ?
			     copy_limits(e) :
			     REAL(cuStreamBatchMemOp_v2)(e->limit_ctx->control, e->nlimit, e->limit,
							 0);
	shim_fault_seen(e->limit_ctx, rc);
	if (rc != CUDA_SUCCESS)
		shim_log("%u eviction signals could not be sent: driver error %d", e->nlimit, rc);
	e->nlimit = 0;
	return rc;
}

void shim_signals_set(struct shim_evictor *e, struct shim_launch *l, int leave)
{
	struct shim_signal to;
	uint32_t value;

	l->as.transform->signal(l, &to);
	value = leave ? to.leave : to.stay;
	if (e->limit_ctx != l->ctx || e->nlimit == GS_PAGE_SLOTS)
		shim_signals_flush(e);
	e->limit_ctx = l->ctx;
	__atomic_store_n(to.image, value, __ATOMIC_RELEASE);
	e->nlimit = shim_write_op(e->limit, e->nlimit, 32, to.word, value);
	l->eviction.unsettled |= leave;
}
