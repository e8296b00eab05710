/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shim's own resources in a CUDA context; see equip.h. */
#define _GNU_SOURCE
#include "device/shim/context/equip.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/ptx/guard.h"
#include "device/shim/base/wraps.h"

#define TRY(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_ != CUDA_SUCCESS) { \
			shim_log("context %p: " #call " failed: %d", (void *)c->ctx, rc_); \
			return -1; \
		} \
	} while (0)

/*
 * Registers the page with the GPU. A registered page is unregistered for all contexts when one of
 * them is destroyed, and no address can be registered twice. So each context gets a mapping at an
 * address of its own.
 */
static int show_page(struct shim_context *c, struct shim_session *s)
{
	/* A second mapping of the same shared memory. */
	void *view = mremap(s->page, 0, gs_page_shared(s->page), MREMAP_MAYMOVE);
	CUresult rc;

	if (view == MAP_FAILED)
		return -1;
	madvise(view, gs_page_shared(s->page), MADV_DONTFORK);
	rc = REAL(cuMemHostRegister_v2)(view, gs_page_shared(s->page),
					CU_MEMHOSTREGISTER_DEVICEMAP);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuMemHostGetDevicePointer_v2)(&c->page, view, 0);
	if (rc == CUDA_SUCCESS) {
		c->view = view;
		return 0;
	}
	shim_log("context %p: the page cannot be registered: %d", (void *)c->ctx, rc);
	munmap(view, gs_page_shared(s->page));
	return -1;
}

/*
 * Tries the operations that a launch enqueues beside its kernel. Some GPUs and drivers lack them
 * (CAN_USE_STREAM_MEM_OPS, under WSL or a hypervisor), and then every launch would fail where the
 * program's own launch would not.
 */
static CUresult try_operations(const struct shim_context *c)
{
	CUstreamBatchMemOpParams op;
	CUresult rc = REAL(cuStreamWriteValue32_v2)(
		c->relaunch, c->ctl + offsetof(struct gs_ctl, workers), 0, 0);

	memset(&op, 0, sizeof(op));
	op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	op.writeValue.address = c->ctl + offsetof(struct gs_ctl, total);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamBatchMemOp_v2)(c->relaunch, 1, &op, 0);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamWaitValue32_v2)(c->relaunch,
						  c->ctl + offsetof(struct gs_ctl, done), 0,
						  CU_STREAM_WAIT_VALUE_GEQ);
	return rc;
}

/* Tries a wait for a word in host memory, which the shim can do without. */
static int try_to_arm(const struct shim_context *c)
{
	return REAL(cuStreamWaitValue32_v2)(c->relaunch,
					    c->page + offsetof(struct gs_page, head.slots), 0,
					    CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS;
}

int shim_context_equip(struct shim_context *c, struct shim_session *s)
{
	const size_t bytes = GS_PAGE_SLOTS * sizeof(struct gs_ctl);
	struct gs_ctl *image;
	int least, greatest;
	CUresult rc;

	TRY(REAL(cuCtxGetDevice)(&c->device));
	TRY(REAL(cuDeviceGetAttribute)(&c->sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				       c->device));
	if (show_page(c, s) < 0)
		return -1;
	TRY(REAL(cuMemAlloc_v2)(&c->ctl, bytes));
	TRY(REAL(cuCtxGetStreamPriorityRange)(&least, &greatest));
	TRY(REAL(cuStreamCreateWithPriority)(&c->control, CU_STREAM_NON_BLOCKING, greatest));
	TRY(REAL(cuStreamCreateWithPriority)(&c->relaunch, CU_STREAM_NON_BLOCKING, least));
	for (int i = 0; i < SHIM_CONTEXT_EVENTS; i++)
		TRY(REAL(cuEventCreate)(&c->event[i], CU_EVENT_DISABLE_TIMING));
	if (s->signal == GS_SIGNAL_DMA) {
		TRY(REAL(cuMemAllocHost_v2)((void **)&c->word, 3 * sizeof(*c->word)));
		c->word[0] = 0;
		c->word[1] = SHIM_NO_LIMIT;
		c->word[2] = GS_GUARD_LEAVE_UPPER;
	}
	image = calloc(GS_PAGE_SLOTS, sizeof(*image));
	if (!image)
		return -1;
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++) {
		image[i].limit = SHIM_NO_LIMIT;
		image[i].chunk = SHIM_CHUNK_FIRST;
		/* If evictions are counted in block-tasks, claims must be of one block-task. */
		image[i].chunk_max =
			s->alone && s->force.kind == SHIM_FORCE_TASKS ? 1 : SHIM_CHUNK_MAX;
		image[i].chunk_ns = SHIM_CHUNK_AIM_NS;
		image[i].rearm = 1;
		image[i].slot =
			c->page + offsetof(struct gs_page, slot) + i * sizeof(struct gs_slot);
	}
	c->image = image;
	/* No preemptible kernel of the context is out yet, so a plain copy is safe here. */
	rc = REAL(cuMemcpyHtoDAsync_v2)(c->ctl, image, bytes, c->relaunch);
	if (rc == CUDA_SUCCESS)
		rc = try_operations(c);
	c->may_preenqueue = rc == CUDA_SUCCESS && try_to_arm(c);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamSynchronize)(c->relaunch);
	if (rc == CUDA_SUCCESS)
		return 0;
	shim_log("context %p: the control blocks cannot be written, or waited for: %d",
		 (void *)c->ctx, rc);
	free(image);
	c->image = NULL;
	return -1;
}
