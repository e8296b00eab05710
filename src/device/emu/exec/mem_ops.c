/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores.  Every address is checked: global ones against
 * the process's allocations (the last hit first), the others against the size
 * of their space.  The host's memory model (total store order) is stronger
 * than PTX's, so weak, relaxed, acquire and release accesses are plain ones;
 * fences are the host's.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"
#include "device/emu/exec/watch.h"

static int cached(const struct emu_warp *w, uint64_t addr, uint64_t size)
{
	const struct emu_range *c = &w->cache;

	return addr >= c->base && size <= c->size && addr - c->base <= c->size - size &&
	       c->version == emu_mem_version(w->block->grid->mem);
}

void *emu_translate(struct emu_warp *w, int lane, enum emu_space space, uint64_t addr,
		    uint32_t size, uint32_t align)
{
	const struct emu_block *b = w->block;
	uint64_t shown = addr;

	if (space == EMU_S_GENERIC) {
		switch (addr & EMU_WINDOW_MASK) {
		case 0:
			space = EMU_S_GLOBAL;
			break;
		case EMU_SHARED_BASE:
			space = EMU_S_SHARED;
			break;
		case EMU_LOCAL_BASE:
			space = EMU_S_LOCAL;
			break;
		case EMU_PARAM_BASE:
			space = EMU_S_PARAM;
			break;
		default:
			break;
		}
	}
	if (space != EMU_S_GLOBAL && space != EMU_S_GENERIC)
		addr &= ~EMU_WINDOW_MASK;
	if (addr & (align - 1)) {
		emu_fault(w, lane, EMU_FAULT_ALIGN, shown, "misaligned address");
		return NULL;
	}
	switch (space) {
	case EMU_S_GLOBAL:
		if (cached(w, addr, size) || !emu_mem_find(b->grid->mem, addr, size, &w->cache))
			return (void *)(uintptr_t)addr;
		emu_fault(w, lane, EMU_FAULT_ADDRESS, shown,
			  "global address outside every allocation");
		return NULL;
	case EMU_S_SHARED:
		if (size <= b->shared_bytes && addr <= b->shared_bytes - size)
			return b->shared + addr;
		emu_fault(w, lane, EMU_FAULT_ADDRESS, shown, "shared address out of bounds");
		return NULL;
	case EMU_S_LOCAL:
		if (size <= w->store.stride && addr <= w->store.stride - size)
			return w->store.local + (size_t)lane * w->store.stride + addr;
		emu_fault(w, lane, EMU_FAULT_ADDRESS, shown, "local address out of bounds");
		return NULL;
	case EMU_S_PARAM:
		if (size <= b->grid->program->params.bytes &&
		    addr <= b->grid->program->params.bytes - size)
			return b->grid->param + addr;
		emu_fault(w, lane, EMU_FAULT_ADDRESS, shown, "parameter address out of bounds");
		return NULL;
	default:
		emu_fault(w, lane, EMU_FAULT_ADDRESS, shown, "address in no space");
		return NULL;
	}
}

static inline uint64_t load_element(const void *p, uint32_t size, int is_signed)
{
	switch (size) {
	case 1: {
		uint8_t v = __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
		return is_signed ? (uint64_t)(int8_t)v : v;
	}
	case 2: {
		uint16_t v = __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED);
		return is_signed ? (uint64_t)(int16_t)v : v;
	}
	case 4: {
		uint32_t v = __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
		return is_signed ? (uint64_t)(int32_t)v : v;
	}
	default:
		return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
	}
}

static inline void store_element(void *p, uint32_t size, uint64_t v)
{
	switch (size) {
	case 1:
		__atomic_store_n((uint8_t *)p, (uint8_t)v, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n((uint16_t *)p, (uint16_t)v, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n((uint32_t *)p, (uint32_t)v, __ATOMIC_RELAXED);
		break;
	default:
		__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED);
		break;
	}
}

/*
 * A vector moves at once, as on a GPU: nobody sees some of its elements and not
 * the others (gs_slot's first sixteen bytes, the tile words of look-back scans).
 * The processors that have AVX guarantee it for sixteen bytes; `to` or `from`
 * is the program's, the other end our own.
 */
typedef uint64_t sixteen __attribute__((vector_size(16), aligned(1), may_alias));

static inline void move_vector(void *to, const void *from, uint32_t bytes)
{
	switch (bytes) {
	case 2:
		store_element(to, 2, load_element(from, 2, 0));
		break;
	case 4:
		store_element(to, 4, load_element(from, 4, 0));
		break;
	case 8:
		store_element(to, 8, load_element(from, 8, 0));
		break;
	default:
		for (uint32_t at = 0; at < bytes; at += 16)
			*(volatile sixteen *)((char *)to + at) =
				*(const volatile sixteen *)((const char *)from + at);
	}
}

/* wide: destination rows are 8 bytes a lane; boolop: bits kept in a 4-byte lane (16 or 32). */
int emu_h_ld(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t bytes = (uint32_t)op->size * op->vec;
	uint64_t copy[4]; /* four elements of eight bytes */

	EACH (i) {
		const uint8_t *p = emu_translate(w, (int)i, op->space, emu_lane_address(w, op, i),
						 bytes, bytes);

		if (!p)
			return -1;
		if (op->vec > 1) {
			move_vector(copy, p, bytes);
			p = (const uint8_t *)copy;
		}
		for (uint32_t k = 0; k < op->vec; k++) {
			uint64_t v = load_element(p + k * op->size, op->size, op->is_signed);
			int32_t row = k ? op->extra[k - 1] : op->d;

			if (row == EMU_NO_ROW)
				continue;
			if (op->wide)
				ROW64(w, row)[i] = v;
			else
				ROW32(w, row)[i] = op->boolop == 16 ? (uint16_t)v : (uint32_t)v;
		}
	}
	return 0;
}

int emu_h_st(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t bytes = (uint32_t)op->size * op->vec;
	uint64_t copy[4]; /* four elements of eight bytes */

	EACH (i) {
		uint8_t *p = emu_translate(w, (int)i, op->space, emu_lane_address(w, op, i), bytes,
					   bytes);
		uint8_t *to = op->vec > 1 ? (uint8_t *)copy : p;

		if (!p)
			return -1;
		for (uint32_t k = 0; k < op->vec; k++) {
			int32_t row = k ? op->extra[k - 1] : op->s[1];

			store_element(to + k * op->size, op->size,
				      op->wide ? ROW64(w, row)[i] : ROW32(w, row)[i]);
		}
		if (op->vec > 1)
			move_vector(p, copy, bytes);
	}
	return 0;
}

/* All lanes, 4 bytes, global memory, in the allocation hit last: one check for the warp. */
static int warp_in_cache(struct emu_warp *w, const uint64_t *a, uint64_t off)
{
	uint64_t low = UINT64_MAX, high = 0, bits = 0;

	for (int i = 0; i < EMU_LANES; i++) {
		uint64_t v = a[i] + off;

		low = v < low ? v : low;
		high = v > high ? v : high;
		bits |= v;
	}
	return !(bits & 3) && high - low < UINT32_MAX && cached(w, low, high - low + 4);
}

int emu_h_ld_fast32(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint64_t *a;
	uint32_t *d;

	if (mask != EMU_FULL)
		return emu_h_ld(w, op, mask);
	a = ROW64(w, op->s[0]);
	if (!warp_in_cache(w, a, (uint64_t)op->imm))
		return emu_h_ld(w, op, mask);
	d = ROW32(w, op->d);
	for (int i = 0; i < EMU_LANES; i++)
		d[i] = __atomic_load_n((const uint32_t *)(uintptr_t)(a[i] + (uint64_t)op->imm),
				       __ATOMIC_RELAXED);
	return 0;
}

int emu_h_st_fast32(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint64_t *a;
	const uint32_t *d;

	if (mask != EMU_FULL)
		return emu_h_st(w, op, mask);
	a = ROW64(w, op->s[0]);
	if (!warp_in_cache(w, a, (uint64_t)op->imm))
		return emu_h_st(w, op, mask);
	d = ROW32(w, op->s[1]);
	for (int i = 0; i < EMU_LANES; i++)
		__atomic_store_n((uint32_t *)(uintptr_t)(a[i] + (uint64_t)op->imm), d[i],
				 __ATOMIC_RELAXED);
	return 0;
}

/* A kernel parameter at a constant offset: the same for all lanes. */
int emu_h_ld_param(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint8_t *p = w->block->grid->param + op->imm;

	for (uint32_t k = 0; k < op->vec; k++) {
		uint64_t v = load_element(p + k * op->size, op->size, op->is_signed);
		int32_t row = k ? op->extra[k - 1] : op->d;

		if (row == EMU_NO_ROW)
			continue;
		if (op->wide) {
			uint64_t *d = ROW64(w, row);

			EACH (i)
				d[i] = v;
		} else {
			uint32_t *d = ROW32(w, row),
				 v32 = op->boolop == 16 ? (uint16_t)v : (uint32_t)v;

			EACH (i)
				d[i] = v32;
		}
	}
	return 0;
}

int emu_h_fence(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	(void)w;
	(void)op;
	(void)mask;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}

/* cp.async: done at once; size bytes to shared from global, of which s[2] (or imm2) are read, the
 * rest zeroed. */
int emu_h_cp_async(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t dst = (op->mode.flags & EMU_F_ADDR64 ? ROW64(w, op->s[0])[i] :
								ROW32(w, op->s[0])[i]) +
			       (uint64_t)op->imm;
		uint64_t src = ROW64(w, op->s[1])[i] + op->target;
		uint32_t n = op->s[2] == EMU_NO_ROW ? op->size : ROW32(w, op->s[2])[i];
		void *to = emu_translate(w, (int)i, EMU_S_SHARED, dst, op->size, op->size);
		const void *from;

		if (!to)
			return -1;
		n = n > op->size ? op->size : n;
		memset(to, 0, op->size);
		if (!n)
			continue;
		from = emu_translate(w, (int)i, EMU_S_GENERIC, src, n, op->size);
		if (!from)
			return -1;
		memcpy(to, from, n);
	}
	return 0;
}

/* cp.async.bulk: s[2] bytes from s[1] in the space sub to s[0]; all of it multiples of 16. */
int emu_h_bulk_copy(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint32_t n = ROW32(w, op->s[2])[i];
		void *to, *from;

		if (!n)
			continue;
		if (n % 16)
			return emu_fault(w, (int)i, EMU_FAULT_ALIGN, n, "the size of a bulk copy");
		to = emu_translate(w, (int)i, (enum emu_space)op->space, ROW64(w, op->s[0])[i], n,
				   16);
		from = to ? emu_translate(w, (int)i, (enum emu_space)op->sub, ROW64(w, op->s[1])[i],
					  n, 16) :
			    NULL;
		if (!from)
			return -1;
		memcpy(to, from, n);
	}
	return 0;
}
