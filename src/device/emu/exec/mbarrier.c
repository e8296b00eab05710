/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mbarrier objects (PTX ISA, "Parallel Synchronization and Communication
 * Instructions: mbarrier"), whose 64 bits the device may lay out as it likes:
 * pending arrivals in bits 0 to 19, those of the next phase in 20 to 39, the
 * tx-count, signed, in 40 to 61, the phase's parity in 63.
 */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

#define COUNT_MASK 0xfffffu

struct barrier {
	uint32_t pending, expected;
	int32_t tx;
	uint32_t phase;
};

static struct barrier unpack(uint64_t v)
{
	return (struct barrier) { (uint32_t)v & COUNT_MASK, (uint32_t)(v >> 20) & COUNT_MASK,
				  (int32_t)((int64_t)(v << 2) >> 42), (uint32_t)(v >> 63) };
}

static uint64_t pack(const struct barrier *b)
{
	return b->pending | (uint64_t)b->expected << 20 |
	       (uint64_t)((uint32_t)b->tx & 0x3fffff) << 40 | (uint64_t)b->phase << 63;
}

static void complete(struct barrier *b)
{
	if (b->pending || b->tx)
		return;
	b->phase ^= 1;
	b->pending = b->expected;
}

static int apply(struct emu_warp *w, const struct emu_op *op, uint32_t i, struct barrier *b,
		 uint32_t n)
{
	uint32_t arrivals = op->sub == EMU_MB_ARRIVE_TX ? 1 : n;

	switch (op->sub) {
	case EMU_MB_INIT:
		*b = (struct barrier) { .pending = n & COUNT_MASK, .expected = n & COUNT_MASK };
		return 0;
	case EMU_MB_EXPECT_TX:
		b->tx += (int32_t)n;
		return 0;
	case EMU_MB_COMPLETE_TX:
		b->tx -= (int32_t)n;
		complete(b);
		return 0;
	case EMU_MB_ARRIVE_TX:
		b->tx += (int32_t)n;
		break;
	case EMU_MB_DROP:
		b->expected -= n < b->expected ? n : b->expected;
		break;
	default:
		break;
	}
	if (arrivals > b->pending)
		return emu_fault(w, (int)i, EMU_FAULT_BARRIER, ROW32(w, op->s[0])[i],
				 "more arrivals at an mbarrier than it expects");
	b->pending -= arrivals;
	complete(b);
	return 0;
}

static uint64_t *object(struct emu_warp *w, const struct emu_op *op, uint32_t i)
{
	uint64_t a = (uint64_t)op->imm;

	if (!(op->mode.flags & EMU_F_NOBASE))
		a += op->mode.flags & EMU_F_ADDR64 ? ROW64(w, op->s[0])[i] : ROW32(w, op->s[0])[i];
	return emu_translate(w, (int)i, op->space, a, 8, 8);
}

/* init, arrive, drop, expect_tx, complete_tx: s[1] the count (none: 1), d the state before, if it
 * is wanted. */
int emu_h_mbarrier(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t *p = object(w, op, i), before;
		struct barrier b;

		if (!p)
			return -1;
		before = *p;
		b = unpack(before);
		if (apply(w, op, i, &b, op->s[1] == EMU_NO_ROW ? 1 : ROW32(w, op->s[1])[i]))
			return -1;
		*p = pack(&b);
		if (op->d != EMU_NO_ROW)
			ROW64(w, op->d)[i] = before;
	}
	return 0;
}

/*
 * test_wait, try_wait: is the phase of the state s[1] (or of that parity) over? If not, let other
 * warps run first.
 */
int emu_h_mbarrier_test(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t yes = 0;

	EACH (i) {
		uint64_t *p = object(w, op, i);
		uint32_t phase;

		if (!p)
			return -1;
		phase = op->sub ? ROW32(w, op->s[1])[i] & 1 :
				  (uint32_t)(ROW64(w, op->s[1])[i] >> 63);
		yes |= (uint32_t)((uint32_t)(*p >> 63) != phase) << i;
	}
	PRED(w, op->d) = (PRED(w, op->d) & ~mask) | yes;
	if (yes != mask)
		w->progress.yield = 1;
	return 0;
}

int emu_h_mbarrier_pending(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i)
		ROW32(w, op->d)[i] = (uint32_t)ROW64(w, op->s[0])[i] & COUNT_MASK;
	return 0;
}
