/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device memory of a context, counted against the shared device. */
#define _GNU_SOURCE
#include "device/emu/emu.h"
#include "device/emu/exec/watch.h"
#include "device/emu/ipc.h"

uint64_t emu_counted(enum emu_mem_kind kind, uint64_t bytes)
{
	if (kind == EMU_MEM_HOST || kind == EMU_MEM_REGISTERED || kind == EMU_MEM_MAPPED)
		return 0;
	return (bytes + 511) & ~511ull; /* the granularity of the real driver's allocator */
}

CUresult emu_alloc(struct CUctx_st *ctx, uint64_t *ptr, uint64_t bytes, enum emu_mem_kind kind,
		   unsigned int flags)
{
	uint64_t n = emu_counted(kind, bytes);

	if (bytes > UINT64_MAX - 512)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (n && emu_device_reserve(emu.dev, n))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ptr = emu_mem_alloc(emu.mem, bytes, kind, flags,
			     ctx && kind != EMU_MEM_MODULE ? ctx->id : 0);
	if (*ptr)
		return CUDA_SUCCESS;
	if (n)
		emu_device_release(emu.dev, n);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult emu_free(struct CUctx_st *ctx, uint64_t ptr, unsigned int kinds)
{
	enum emu_mem_kind kind;
	uint64_t size;

	(void)ctx;
	if (emu_mem_free(emu.mem, ptr, kinds, &size, &kind))
		return CUDA_ERROR_INVALID_VALUE;
	emu_watch_forget(ptr, size);
	if (emu_counted(kind, size))
		emu_device_release(emu.dev, emu_counted(kind, size));
	if (kind == EMU_MEM_DEVICE)
		emu_ipc_freed(ptr);
	return CUDA_SUCCESS;
}

struct search {
	uint64_t holder, base;
};

static int is_of(void *user, const struct emu_range *r)
{
	struct search *s = user;

	s->base = r->holder == s->holder ? r->base : 0;
	return s->base != 0;
}

void emu_free_of(uint64_t ctx_id)
{
	struct search s = { .holder = ctx_id };

	for (;;) {
		s.base = 0;
		emu_mem_each(emu.mem, is_of, &s);
		if (!s.base || emu_free(NULL, s.base, UINT32_MAX) != CUDA_SUCCESS)
			break;
	}
}
