/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exported allocations; see ipc.h. */
#define _GNU_SOURCE
#include "device/emu/ipc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct emu_ipc *exported;

/*
 * Move the allocation's pages into a file that other processes can open, at the same address while
 * the program goes on.
 */
static int share_pages(const struct emu_range *r, struct stat *st)
{
	uint64_t bytes = (r->size + 4095) & ~4095ull;
	int fd = memfd_create("gpushare-emu-ipc", MFD_CLOEXEC);
	uint64_t done = 0;

	if (fd < 0)
		return -1;
	while (done < bytes) {
		ssize_t n = pwrite(fd, (const char *)(uintptr_t)r->base + done, bytes - done,
				   (off_t)done);

		if (n <= 0)
			goto fail;
		done += (uint64_t)n;
	}
	if (fstat(fd, st) || mmap((void *)(uintptr_t)r->base, bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		goto fail;
	return fd;
fail:
	close(fd);
	return -1;
}

/* Under the mutex; NULL: it cannot be exported. */
static struct emu_ipc *find_or_export(const struct emu_range *r)
{
	struct emu_ipc *s;
	struct stat st;
	int fd;

	for (s = exported; s && s->base != r->base; s = s->next)
		;
	if (s && s->h.size == r->size)
		return s;
	s = calloc(1, sizeof(*s));
	fd = s ? share_pages(r, &st) : -1;
	if (fd < 0) {
		free(s);
		return NULL;
	}
	s->base = r->base;
	s->h = (struct emu_ipc_handle) { EMU_IPC_MAGIC, r->size,  0, st.st_ino,
					 st.st_dev,     getpid(), fd };
	s->next = exported;
	exported = s;
	return s;
}

CUresult emu_ipc_export(const struct emu_range *r, uint64_t ptr, CUipcMemHandle *handle)
{
	struct emu_ipc *s;

	_Static_assert(sizeof(struct emu_ipc_handle) <= CU_IPC_HANDLE_SIZE, "fits");
	pthread_mutex_lock(&mutex);
	s = find_or_export(r);
	if (s) {
		struct emu_ipc_handle h = s->h;

		h.offset = ptr - r->base;
		memset(handle, 0, sizeof(*handle));
		memcpy(handle, &h, sizeof(h));
	}
	pthread_mutex_unlock(&mutex);
	return s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void emu_ipc_freed(uint64_t base)
{
	struct emu_ipc *gone = NULL;

	pthread_mutex_lock(&mutex);
	for (struct emu_ipc **p = &exported; *p; p = &(*p)->next) {
		if ((*p)->base != base)
			continue;
		gone = *p;
		*p = gone->next;
		close(gone->h.fd);
		break;
	}
	pthread_mutex_unlock(&mutex);
	free(gone);
}
