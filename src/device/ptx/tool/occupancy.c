/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many blocks an SM holds (CUDA programming guide, "Multiprocessor Level"); see code.h. */
#define _GNU_SOURCE
#include "device/ptx/tool/code.h"

#define WARP 32u
#define PARTS 4u /* an SM's registers are in so many parts, a warp in one of them */
#define PART_REGISTERS 16384u
#define REGISTER_UNIT 256u /* a warp's registers are a multiple of this */
#define SHARED_UNIT 128u
#define SYSTEM_SHARED 1024u /* per block, from 8.0 on */

static const struct sm {
	uint32_t sm, warps, blocks, shared;
} sms[] = {
#define SM(sm, warps, blocks, kib) { sm, warps, blocks, (kib)*1024u },
#include "device/ptx/tool/sm.def"
#undef SM
};

static const struct sm *find(uint32_t sm)
{
	for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++)
		if (sms[i].sm == sm)
			return &sms[i];
	return NULL;
}

int tool_knows_sm(uint32_t sm)
{
	return find(sm) != NULL;
}

static uint32_t round_up(uint32_t n, uint32_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t tool_resident_blocks(const struct tool_code *code, uint32_t sm, uint32_t threads)
{
	const struct sm *s = find(sm);
	uint32_t warps = (threads + WARP - 1) / WARP, n, registers, shared;

	if (!s || !warps)
		return 0;
	registers = round_up(code->registers ? code->registers * WARP : 1, REGISTER_UNIT);
	shared = round_up(code->shared + (sm >= 80 ? SYSTEM_SHARED : 0), SHARED_UNIT);
	n = least(s->blocks, s->warps / warps);
	n = least(n, PART_REGISTERS / registers * PARTS / warps);
	return shared ? least(n, s->shared / shared) : n;
}
