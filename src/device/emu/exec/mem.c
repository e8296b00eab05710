/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device memory of one process: a sorted table under a read-write lock. */
#define _GNU_SOURCE
#include "device/emu/exec/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct emu_mem {
	pthread_rwlock_t lock;
	struct emu_range *range; /* by base */
	size_t n, cap;
	_Atomic uint32_t version;
};

struct emu_mem *emu_mem_create(void)
{
	struct emu_mem *mem = calloc(1, sizeof(*mem));

	if (mem) {
		pthread_rwlock_init(&mem->lock, NULL);
		atomic_store(&mem->version, 1);
	}
	return mem;
}

static uint64_t mapped_bytes(uint64_t size)
{
	return (size + 4095) & ~4095ull;
}

static int owned(enum emu_mem_kind kind)
{
	return kind != EMU_MEM_REGISTERED && kind != EMU_MEM_MAPPED;
}

/* Index of the first range that ends above addr. */
static size_t lower(const struct emu_mem *mem, uint64_t addr)
{
	size_t lo = 0, hi = mem->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (mem->range[mid].base + mem->range[mid].size <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int insert(struct emu_mem *mem, const struct emu_range *r)
{
	int rc = -1;
	size_t i;

	pthread_rwlock_wrlock(&mem->lock);
	i = lower(mem, r->base);
	if (i < mem->n && mem->range[i].base < r->base + r->size)
		goto out;
	if (mem->n == mem->cap) {
		size_t cap = mem->cap ? mem->cap * 2 : 64;
		struct emu_range *p = realloc(mem->range, cap * sizeof(*p));

		if (!p)
			goto out;
		mem->range = p;
		mem->cap = cap;
	}
	memmove(mem->range + i + 1, mem->range + i, (mem->n - i) * sizeof(*r));
	mem->range[i] = *r;
	mem->n++;
	atomic_fetch_add(&mem->version, 1);
	rc = 0;
out:
	pthread_rwlock_unlock(&mem->lock);
	return rc;
}

uint64_t emu_mem_alloc(struct emu_mem *mem, uint64_t size, enum emu_mem_kind kind, uint32_t flags,
		       uint64_t holder)
{
	struct emu_range r = { .size = size, .kind = kind, .flags = flags, .holder = holder };
	void *p;

	if (!size || size > UINT64_C(1) << 46)
		return 0;
	p = mmap(NULL, mapped_bytes(size), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return 0;
	r.base = (uintptr_t)p;
	if (insert(mem, &r)) {
		munmap(p, mapped_bytes(size));
		return 0;
	}
	return r.base;
}

int emu_mem_register(struct emu_mem *mem, uint64_t base, uint64_t size, uint32_t flags,
		     uint64_t holder)
{
	struct emu_range r = { .base = base,
			       .size = size,
			       .kind = EMU_MEM_REGISTERED,
			       .flags = flags,
			       .holder = holder };

	if (!base || !size || base + size < base)
		return -1;
	return insert(mem, &r);
}

int emu_mem_map(struct emu_mem *mem, uint64_t base, uint64_t size)
{
	struct emu_range r = { .base = base, .size = size, .kind = EMU_MEM_MAPPED };

	return insert(mem, &r);
}

int emu_mem_free(struct emu_mem *mem, uint64_t base, unsigned int kinds, uint64_t *size,
		 enum emu_mem_kind *kind)
{
	struct emu_range r;
	size_t i;

	pthread_rwlock_wrlock(&mem->lock);
	i = lower(mem, base);
	if (i == mem->n || mem->range[i].base != base || !(kinds & 1u << mem->range[i].kind)) {
		pthread_rwlock_unlock(&mem->lock);
		return -1;
	}
	r = mem->range[i];
	memmove(mem->range + i, mem->range + i + 1, (mem->n - i - 1) * sizeof(r));
	mem->n--;
	atomic_fetch_add(&mem->version, 1);
	pthread_rwlock_unlock(&mem->lock);
	if (owned(r.kind))
		munmap((void *)(uintptr_t)r.base, mapped_bytes(r.size));
	*size = r.size;
	*kind = r.kind;
	return 0;
}

int emu_mem_find(struct emu_mem *mem, uint64_t addr, uint64_t size, struct emu_range *range)
{
	int rc = -1;
	size_t i;

	pthread_rwlock_rdlock(&mem->lock);
	i = lower(mem, addr);
	if (i < mem->n && mem->range[i].base <= addr && size <= mem->range[i].size &&
	    addr - mem->range[i].base <= mem->range[i].size - size) {
		*range = mem->range[i];
		range->version = atomic_load(&mem->version);
		rc = 0;
	}
	pthread_rwlock_unlock(&mem->lock);
	return rc;
}

void emu_mem_each(struct emu_mem *mem, int (*fn)(void *user, const struct emu_range *range),
		  void *user)
{
	pthread_rwlock_rdlock(&mem->lock);
	for (size_t i = 0; i < mem->n && !fn(user, &mem->range[i]); i++)
		;
	pthread_rwlock_unlock(&mem->lock);
}

uint32_t emu_mem_version(const struct emu_mem *mem)
{
	return atomic_load_explicit(&mem->version, memory_order_relaxed);
}
