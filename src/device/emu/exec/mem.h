/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory of one process: its allocations and its registered host
 * memory.  A device address is the address at which the host has the bytes;
 * what makes it device memory is that it is in this table.  Every access of
 * a kernel, a copy or a memory operation is checked against it.
 */
#ifndef GPUSHARE_EMU_MEM_H
#define GPUSHARE_EMU_MEM_H

#include <stddef.h>
#include <stdint.h>

struct emu_mem;

enum emu_mem_kind {
	EMU_MEM_DEVICE,
	EMU_MEM_MANAGED,
	EMU_MEM_HOST,
	EMU_MEM_REGISTERED,
	EMU_MEM_MODULE,
	EMU_MEM_ARRAY,
	EMU_MEM_MAPPED, /* pages of somebody else: virtual memory management, other processes */
};

/* [base, base + size); version says which state of the table it was read from. */
struct emu_range {
	uint64_t base, size;
	uint32_t version;
	enum emu_mem_kind kind;
	uint32_t flags;
	uint64_t holder; /* the context with which it goes; 0: with none */
};

struct emu_mem *emu_mem_create(void);

/* Zeroed pages are mapped; 0 on failure.  Aligned to 512 bytes at least. */
uint64_t emu_mem_alloc(struct emu_mem *mem, uint64_t size, enum emu_mem_kind kind, uint32_t flags,
		       uint64_t holder);
/* Make host memory of the program's own known.  -1: overlaps. */
int emu_mem_register(struct emu_mem *mem, uint64_t base, uint64_t size, uint32_t flags,
		     uint64_t holder);
/* Make device memory known whose pages the caller mapped and unmaps (EMU_MEM_MAPPED).  -1:
 * overlaps. */
int emu_mem_map(struct emu_mem *mem, uint64_t base, uint64_t size);
/* Forget the allocation at base, of one of the kinds in the mask; its size in *size.  -1: none
 * begins there. */
int emu_mem_free(struct emu_mem *mem, uint64_t base, unsigned int kinds, uint64_t *size,
		 enum emu_mem_kind *kind);

/* The range that holds [addr, addr + size), in *range.  -1: none. */
int emu_mem_find(struct emu_mem *mem, uint64_t addr, uint64_t size, struct emu_range *range);
/* Each range, until fn returns other than 0; fn must not call back. */
void emu_mem_each(struct emu_mem *mem, int (*fn)(void *user, const struct emu_range *range),
		  void *user);
/* Changes whenever the table does. */
uint32_t emu_mem_version(const struct emu_mem *mem);

#endif
