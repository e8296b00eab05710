/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual memory management.  Physical memory is a memfd, counted against the
 * device by who made it; mapping it is mmap.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/emu/emu.h"

#define GRANULARITY ((size_t)2 << 20)
#define MAGIC 0x79736870u

struct physical {
	uint32_t magic;
	int fd;
	size_t size;
	unsigned int refs; /* the handle, and each mapping */
};

/* A piece of a reserved range that has memory behind it. */
struct mapping {
	struct mapping *next;
	uint64_t base, size;
	struct physical *p;
	int accessible;
};

struct reservation {
	struct reservation *next;
	uint64_t base, size;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;
static struct reservation *reservations;

static CUresult check_prop(const CUmemAllocationProp *prop)
{
	EMU_TRY(emu_enter_plain());
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.id)
		return CUDA_ERROR_INVALID_DEVICE;
	return prop->requestedHandleTypes ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					       CUmemAllocationGranularity_flags option)
{
	EMU_TRY(check_prop(prop));
	if (!granularity || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = GRANULARITY;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
				     CUdeviceptr addr, unsigned long long flags)
{
	size_t slack = alignment > GRANULARITY ? alignment : GRANULARITY;
	struct reservation *r;
	uint64_t p, base;

	(void)addr; /* a request */
	EMU_TRY(emu_enter_plain());
	if (!ptr || flags || !size || size % GRANULARITY || (alignment & (alignment - 1)) ||
	    size > (size_t)1 << 46 || slack > (size_t)1 << 40)
		return CUDA_ERROR_INVALID_VALUE;
	r = malloc(sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = (uint64_t)(uintptr_t)mmap(NULL, size + slack, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if ((void *)(uintptr_t)p == MAP_FAILED) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	base = (p + slack - 1) & ~(uint64_t)(slack - 1);
	if (base > p)
		munmap((void *)(uintptr_t)p, base - p);
	if (p + slack > base)
		munmap((void *)(uintptr_t)(base + size), p + slack - base);
	r->base = base;
	r->size = size;
	pthread_mutex_lock(&mutex);
	r->next = reservations;
	reservations = r;
	pthread_mutex_unlock(&mutex);
	*ptr = base;
	return CUDA_SUCCESS;
}

static int overlaps(uint64_t base, uint64_t size)
{
	for (struct mapping *m = mappings; m; m = m->next)
		if (m->base < base + size && base < m->base + m->size)
			return 1;
	return 0;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	EMU_TRY(emu_enter_plain());
	pthread_mutex_lock(&mutex);
	for (struct reservation **p = &reservations; *p; p = &(*p)->next) {
		struct reservation *r = *p;

		if (r->base != ptr || r->size != size || overlaps(ptr, size))
			continue;
		*p = r->next;
		munmap((void *)(uintptr_t)ptr, size);
		free(r);
		rc = CUDA_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct physical *p;

	EMU_TRY(check_prop(prop));
	if (!handle || flags || !size || size % GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (emu_device_reserve(emu.dev, size)) {
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->fd = memfd_create("gpushare-emu", MFD_CLOEXEC);
	if (p->fd < 0 || ftruncate(p->fd, (off_t)size)) {
		if (p->fd >= 0)
			close(p->fd);
		emu_device_release(emu.dev, size);
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->magic = MAGIC;
	p->size = size;
	p->refs = 1;
	*handle = (uintptr_t)p;
	return CUDA_SUCCESS;
}

/* Mutex held. */
static void unref(struct physical *p)
{
	if (--p->refs)
		return;
	p->magic = 0;
	close(p->fd);
	emu_device_release(emu.dev, p->size);
	free(p);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;

	EMU_TRY(emu_enter_plain());
	if (!p || p->magic != MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	unref(p);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

static int reserved(uint64_t base, uint64_t size)
{
	for (struct reservation *r = reservations; r; r = r->next)
		if (base >= r->base && size <= r->size && base - r->base <= r->size - size)
			return 1;
	return 0;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
			  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	struct mapping *m;

	EMU_TRY(emu_enter_plain());
	if (!p || p->magic != MAGIC || flags || !size || size % GRANULARITY || ptr % GRANULARITY ||
	    offset || size > p->size)
		return CUDA_ERROR_INVALID_VALUE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->base = ptr;
	m->size = size;
	m->p = p;
	pthread_mutex_lock(&mutex);
	if (reserved(ptr, size) && !overlaps(ptr, size) &&
	    mmap((void *)(uintptr_t)ptr, size, PROT_NONE, MAP_SHARED | MAP_FIXED, p->fd, 0) !=
		    MAP_FAILED) {
		p->refs++;
		m->next = mappings;
		mappings = m;
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	if (rc != CUDA_SUCCESS)
		free(m);
	return rc;
}

/* Whole mappings that lie in the range; they must fill it. */
static int fills(uint64_t base, uint64_t size)
{
	uint64_t sum = 0;

	for (struct mapping *m = mappings; m; m = m->next)
		if (m->base >= base && m->base + m->size <= base + size)
			sum += m->size;
	return sum == size;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
				size_t count)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	enum emu_mem_kind kind;
	uint64_t n;

	EMU_TRY(emu_enter_plain());
	if (!desc || count != 1 || desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    desc->location.id)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	for (struct mapping *m = fills(ptr, size) ? mappings : NULL; m; m = m->next) {
		int want = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
			   desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ;

		if (m->base < ptr || m->base + m->size > ptr + size)
			continue;
		rc = CUDA_SUCCESS;
		mprotect((void *)(uintptr_t)m->base, m->size,
			 want ? PROT_READ | PROT_WRITE : PROT_NONE);
		if (want && !m->accessible && emu_mem_map(emu.mem, m->base, m->size))
			rc = CUDA_ERROR_OUT_OF_MEMORY;
		if (!want && m->accessible)
			emu_mem_free(emu.mem, m->base, 1u << EMU_MEM_MAPPED, &n, &kind);
		m->accessible = want && rc == CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
				CUdeviceptr ptr)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	EMU_TRY(emu_enter_plain());
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	for (struct mapping *m = mappings; m; m = m->next) {
		if (ptr < m->base || ptr >= m->base + m->size)
			continue;
		*flags = m->accessible ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE :
					 CU_MEM_ACCESS_FLAGS_PROT_NONE;
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	struct CUctx_st *ctx;
	enum emu_mem_kind kind;
	uint64_t n;

	EMU_TRY(emu_enter_plain());
	if (emu_enter(&ctx) == CUDA_SUCCESS)
		emu_ctx_wait(ctx);
	pthread_mutex_lock(&mutex);
	for (struct mapping **p = &mappings; fills(ptr, size) && *p;) {
		struct mapping *m = *p;

		if (m->base < ptr || m->base + m->size > ptr + size) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		if (m->accessible)
			emu_mem_free(emu.mem, m->base, 1u << EMU_MEM_MAPPED, &n, &kind);
		mmap((void *)(uintptr_t)m->base, m->size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		unref(m->p);
		size -= m->size; /* what is left to find */
		if (m->base == ptr)
			ptr += m->size;
		free(m);
		rc = CUDA_SUCCESS;
		if (!size)
			break;
		p = &mappings;
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}
