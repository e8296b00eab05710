/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Special registers, and addresses in the windows of the generic space. */
#define _GNU_SOURCE
#include <time.h>

#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Of the deterministic device: what the engine counted, and within this turn the warp's own
 * operations. */
static uint64_t cycles(const struct emu_warp *w)
{
	return atomic_load_explicit(w->block->grid->cycles, memory_order_relaxed) +
	       (w->progress.count - w->progress.round_began) / EMU_LANES;
}

static uint64_t clock_now(const struct emu_warp *w)
{
	return w->block->grid->cycles ? cycles(w) : nanoseconds(CLOCK_MONOTONIC);
}

static uint64_t globaltimer(const struct emu_warp *w)
{
	return w->block->grid->cycles ?
		       (uint64_t)((double)cycles(w) * 1e6 / w->block->grid->clock_khz) :
		       nanoseconds(CLOCK_REALTIME);
}

int emu_h_sreg(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const struct emu_block *b = w->block;
	const struct emu_grid *g = b->grid;

	(void)g;
	switch (op->sub) {
#define S_0(expr) \
	{ \
		uint32_t *d = ROW32(w, op->d); \
		EACH (l) \
			d[l] = (uint32_t)(expr); \
	} \
	break;
#define S_1(expr) \
	{ \
		uint64_t *d = ROW64(w, op->d); \
		uint64_t v = (expr); \
		EACH (l) \
			d[l] = v; \
	} \
	break;
#define S(id, name, wide, expr) \
	case EMU_SR_##id: \
		S_##wide(expr)
#include "device/emu/exec/sregs.def"
#undef S
	default:
		break;
	}
	return 0;
}

/* The local frame's address of each lane, plus imm; wide: 8 bytes a lane; flags FRAME: generic. */
int emu_h_frame_address(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint64_t base = op->sub ? EMU_LOCAL_BASE : 0;

	EACH (i) {
		uint64_t v = base + w->lane.local[i] + (uint64_t)op->imm;

		if (op->wide)
			ROW64(w, op->d)[i] = v;
		else
			ROW32(w, op->d)[i] = (uint32_t)v;
	}
	return 0;
}

int emu_h_alloca(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t size = ROW64(w, op->s[0])[i], end = w->lane.local[i] + (uint64_t)op->imm;
		uint64_t at =
			(end + w->lane.extra[i] + op->target - 1) & ~(uint64_t)(op->target - 1);

		if (size > w->store.stride || at + size > w->store.stride)
			return emu_fault(w, (int)i, EMU_FAULT_STACK, size, "local stack overflow");
		w->lane.extra[i] = (uint32_t)(at + size - end);
		ROW64(w, op->d)[i] = at;
	}
	return 0;
}

int emu_h_stacksave(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i)
		ROW64(w, op->d)[i] = w->lane.local[i] + (uint64_t)op->imm + w->lane.extra[i];
	return 0;
}

int emu_h_stackrestore(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t extra = ROW64(w, op->s[0])[i] - w->lane.local[i] - (uint64_t)op->imm;

		if (extra > w->lane.extra[i])
			return emu_fault(w, (int)i, EMU_FAULT_STACK, ROW64(w, op->s[0])[i],
					 "stackrestore of what stacksave did not give");
		w->lane.extra[i] = (uint32_t)extra;
	}
	return 0;
}

/* Between a space's addresses and generic ones: imm is the window, sub 1 towards the space. */
int emu_h_cvta(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint64_t *a = ROW64(w, op->s[0]);
	uint64_t *d = ROW64(w, op->d);

	EACH (i)
		d[i] = op->sub ? a[i] & ~EMU_WINDOW_MASK : a[i] + (uint64_t)op->imm;
	return 0;
}

int emu_h_isspacep(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint64_t *a = ROW64(w, op->s[0]);
	uint32_t r = 0;

	EACH (i) {
		uint64_t window = a[i] & EMU_WINDOW_MASK;
		int yes = op->space == EMU_S_GLOBAL ? window == 0 : window == (uint64_t)op->imm;

		r |= (uint32_t)yes << i;
	}
	PRED(w, op->d) = (PRED(w, op->d) & ~mask) | r;
	return 0;
}

#define SLEEP_LEAST_NS 100000u
#define SLEEP_MOST_NS 1000000u /* PTX ISA, nanosleep */

/*
 * The other warps and groups go first.  A long sleep also leaves the host's processor: a kernel
 * that is only there to take time leaves it to what else runs here.  The deterministic device's
 * clock counts operations, so nobody sleeps there.
 */
int emu_h_nanosleep(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *ns = ROW32(w, op->s[0]);
	struct timespec ts = { 0, 0 };

	EACH (i)
		if ((long)ns[i] > ts.tv_nsec)
			ts.tv_nsec = (long)ns[i];
	if (ts.tv_nsec > SLEEP_MOST_NS)
		ts.tv_nsec = SLEEP_MOST_NS;
	if (ts.tv_nsec >= SLEEP_LEAST_NS && !w->block->grid->cycles)
		nanosleep(&ts, NULL);
	w->progress.yield = 1;
	return 0;
}
