/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of another process. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/emu/emu.h"
#include "device/emu/ipc.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct emu_ipc *imported;

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct CUctx_st *ctx;
	struct emu_range r;

	EMU_TRY(emu_enter(&ctx));
	if (!handle || emu_mem_find(emu.mem, ptr, 1, &r) || r.kind != EMU_MEM_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_ctx_wait(ctx));
	return emu_ipc_export(&r, ptr, handle);
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	struct CUctx_st *ctx;
	struct emu_ipc_handle h;
	struct emu_ipc *s;
	char path[64];
	struct stat st;
	uint64_t bytes;
	void *p = MAP_FAILED;
	int fd;

	EMU_TRY(emu_enter(&ctx));
	memcpy(&h, &handle, sizeof(h));
	if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || h.magic != EMU_IPC_MAGIC ||
	    !h.size || h.offset >= h.size || h.size > UINT64_C(1) << 46)
		return CUDA_ERROR_INVALID_VALUE;
	if (h.pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	bytes = (h.size + 4095) & ~4095ull;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", h.pid, h.fd);
	s = calloc(1, sizeof(*s));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (s && fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == h.inode && st.st_dev == h.dev &&
	    (uint64_t)st.st_size >= bytes)
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED || emu_mem_map(emu.mem, (uintptr_t)p, h.size)) {
		free(s);
		return CUDA_ERROR_MAP_FAILED;
	}
	s->h = h;
	s->base = (uintptr_t)p;
	pthread_mutex_lock(&mutex);
	s->next = imported;
	imported = s;
	pthread_mutex_unlock(&mutex);
	*ptr = s->base + h.offset;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct emu_ipc *gone = NULL;
	enum emu_mem_kind kind;
	struct CUctx_st *ctx;
	uint64_t n;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_ctx_wait(ctx));
	pthread_mutex_lock(&mutex);
	for (struct emu_ipc **p = &imported; *p; p = &(*p)->next) {
		if (ptr < (*p)->base || ptr >= (*p)->base + (*p)->h.size)
			continue;
		gone = *p;
		*p = gone->next;
		break;
	}
	pthread_mutex_unlock(&mutex);
	if (!gone)
		return CUDA_ERROR_INVALID_VALUE;
	emu_mem_free(emu.mem, gone->base, 1u << EMU_MEM_MAPPED, &n, &kind);
	munmap((void *)(uintptr_t)gone->base, (gone->h.size + 4095) & ~4095ull);
	free(gone);
	return CUDA_SUCCESS;
}
