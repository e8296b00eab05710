/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which errors end a context, and noticing them; see fault.h. */
#define _GNU_SOURCE
#include "device/shim/context/fault.h"

#include "device/shim/base/wraps.h"

/* The errors that, as the CUDA driver API says at CUresult, leave the process in an inconsistent
 * state, so that it must be ended and started anew. */
static const CUresult ending[] = {
	CUDA_ERROR_ECC_UNCORRECTABLE,
	CUDA_ERROR_NVLINK_UNCORRECTABLE,
	CUDA_ERROR_CONTAINED,
	CUDA_ERROR_ILLEGAL_ADDRESS,
	CUDA_ERROR_LAUNCH_TIMEOUT,
	CUDA_ERROR_ASSERT,
	CUDA_ERROR_HARDWARE_STACK_ERROR,
	CUDA_ERROR_ILLEGAL_INSTRUCTION,
	CUDA_ERROR_MISALIGNED_ADDRESS,
	CUDA_ERROR_INVALID_ADDRESS_SPACE,
	CUDA_ERROR_INVALID_PC,
	CUDA_ERROR_LAUNCH_FAILED,
	CUDA_ERROR_TENSOR_MEMORY_LEAK,
	CUDA_ERROR_MPS_RPC_FAILURE,
	CUDA_ERROR_MPS_CLIENT_TERMINATED,
	CUDA_ERROR_EXTERNAL_DEVICE,
};

static int ends_context(CUresult rc)
{
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (ending[i] == rc)
			return 1;
	return 0;
}

int shim_fault_seen(struct shim_context *c, CUresult rc)
{
	struct shim_session *s = shim_session_peek();
	CUresult none = CUDA_SUCCESS;

	if (!ends_context(rc))
		return 0;
	if (atomic_compare_exchange_strong(&c->fault, &none, rc)) {
		shim_log("context %p has failed: %d", (void *)c->ctx, rc);
		if (s)
			gs_page_doorbell(s->page);
	}
	return 1;
}

void shim_fault_poll(struct shim_context *c)
{
	shim_fault_seen(c, REAL(cuStreamQuery)(c->control));
}
