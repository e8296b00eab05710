/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lanes of a warp do together: shfl, vote, match, redux, activemask, elect. */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

/* PTX ISA, shfl.sync: c holds the clamp in bits 0-4 and the segment mask in bits 8-12. */
int emu_h_shfl(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *b = ROW32(w, op->s[1]), *c = ROW32(w, op->s[2]);
	uint32_t a[EMU_LANES], *d = ROW32(w, op->d), valid = 0;

	memcpy(a, ROW32(w, op->s[0]), sizeof(a));
	EACH (i) {
		int lane = (int)i, bval = (int)(b[i] & 31), clamp = (int)(c[i] & 31),
		    seg = (int)(c[i] >> 8 & 31);
		int max = (lane & seg) | (clamp & ~seg), min = lane & seg, j, ok;

		switch (op->sub) {
		case EMU_SH_UP:
			j = lane - bval;
			ok = j >= max;
			break;
		case EMU_SH_DOWN:
			j = lane + bval;
			ok = j <= max;
			break;
		case EMU_SH_BFLY:
			j = lane ^ bval;
			ok = j <= max;
			break;
		default:
			j = min | (bval & ~seg);
			ok = j <= max;
			break;
		}
		if (!ok)
			j = lane;
		d[i] = a[j & 31];
		valid |= (uint32_t)ok << i;
	}
	if (op->extra[0] != EMU_NO_ROW)
		PRED(w, op->extra[0]) = (PRED(w, op->extra[0]) & ~mask) | valid;
	return 0;
}

int emu_h_vote(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t p = PRED(w, op->s[0]), r;

	if (op->mode.flags & EMU_F_SAT) /* negated */
		p = ~p;
	p &= mask;
	if (op->sub == EMU_V_BALLOT) {
		uint32_t *d = ROW32(w, op->d);

		EACH (i)
			d[i] = p;
		return 0;
	}
	r = op->sub == EMU_V_ALL ? p == mask : op->sub == EMU_V_ANY ? p != 0 : p == mask || p == 0;
	PRED(w, op->d) = (PRED(w, op->d) & ~mask) | (r ? mask : 0);
	return 0;
}

/* match.any / match.all (sub 1); wide: 64-bit values. */
int emu_h_match(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint64_t v[EMU_LANES];
	uint32_t r[EMU_LANES] = { 0 }, all = 1;

	EACH (i)
		v[i] = op->wide ? ROW64(w, op->s[0])[i] : ROW32(w, op->s[0])[i];
	EACH (i) {
		for (uint32_t n = mask; n; n &= n - 1) {
			int j = __builtin_ctz(n);

			if (v[j] == v[i])
				r[i] |= 1u << j;
		}
		all &= r[i] == mask;
	}
	EACH (i)
		ROW32(w, op->d)[i] = op->sub ? (all ? mask : 0) : r[i];
	if (op->extra[0] != EMU_NO_ROW)
		PRED(w, op->extra[0]) = (PRED(w, op->extra[0]) & ~mask) | (all ? mask : 0);
	return 0;
}

int emu_h_redux(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *a = ROW32(w, op->s[0]);
	uint32_t *d = ROW32(w, op->d), r = a[__builtin_ctz(mask)];
	uint32_t rest = mask & (mask - 1);

	for (; rest; rest &= rest - 1) {
		uint32_t v = a[__builtin_ctz(rest)];

		switch (op->sub) {
		case EMU_A_ADD:
			r += v;
			break;
		case EMU_A_AND:
			r &= v;
			break;
		case EMU_A_OR:
			r |= v;
			break;
		case EMU_A_XOR:
			r ^= v;
			break;
		case EMU_A_MIN:
			r = op->is_signed ? ((int32_t)v < (int32_t)r ? v : r) : (v < r ? v : r);
			break;
		default:
			r = op->is_signed ? ((int32_t)v > (int32_t)r ? v : r) : (v > r ? v : r);
			break;
		}
	}
	EACH (i)
		d[i] = r;
	return 0;
}

int emu_h_activemask(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t *d = ROW32(w, op->d);

	EACH (i)
		d[i] = mask;
	return 0;
}

/* elect.sync d|p, membermask: the lowest lane. */
int emu_h_elect(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t leader = (uint32_t)__builtin_ctz(mask);

	if (op->d != EMU_NO_ROW)
		EACH (i)
			ROW32(w, op->d)[i] = leader;
	if (op->extra[0] != EMU_NO_ROW)
		PRED(w, op->extra[0]) = (PRED(w, op->extra[0]) & ~mask) | 1u << leader;
	return 0;
}
