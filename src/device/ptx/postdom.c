/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Post-dominators by iteration over the reversed graph (Cooper, Harvey and
 * Kennedy, "A Simple, Fast Dominance Algorithm").  What cannot reach the end
 * does not take part: a thread that traps ends its context.
 */
#include "device/ptx/postdom.h"

#include <stdlib.h>

#define PASSES_MAX 64

/* Number the blocks that reach the exit, in post-order; stack[] is scratch for all of them. */
static uint32_t number_blocks(struct ptx_cfg *cfg, uint32_t *by_order, uint32_t *stack,
			      uint32_t *next)
{
	uint32_t depth = 0, n = 0;

	stack[depth++] = cfg->exit_block;
	cfg->block[cfg->exit_block].order = UINT32_MAX; /* seen */
	while (depth) {
		struct ptx_block *b = &cfg->block[stack[depth - 1]];
		uint32_t *at = &next[stack[depth - 1]];

		if (*at < b->npred) {
			uint32_t pred = cfg->back[b->pred + (*at)++];

			if (cfg->block[pred].order == 0) {
				cfg->block[pred].order = UINT32_MAX;
				stack[depth++] = pred;
			}
		} else {
			by_order[n++] = stack[--depth];
			b->order = n;
		}
	}
	return n;
}

static uint32_t meet(const struct ptx_cfg *cfg, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (cfg->block[a].order < cfg->block[b].order)
			a = cfg->block[a].ipdom;
		while (cfg->block[b].order < cfg->block[a].order)
			b = cfg->block[b].ipdom;
	}
	return a;
}

static int update(struct ptx_cfg *cfg, uint32_t i)
{
	struct ptx_block *b = &cfg->block[i];
	uint32_t ipdom = PTX_BLOCK_NONE;

	for (uint32_t e = b->succ; e < b->succ + b->nsucc; e++) {
		uint32_t s = cfg->edge[e];

		if (cfg->block[s].order == 0 || cfg->block[s].ipdom == PTX_BLOCK_NONE)
			continue;
		ipdom = ipdom == PTX_BLOCK_NONE ? s : meet(cfg, ipdom, s);
	}
	if (ipdom == b->ipdom)
		return 0;
	b->ipdom = ipdom;
	return 1;
}

static int iterate(struct ptx_cfg *cfg, const uint32_t *by_order, uint32_t n)
{
	int changed = 1;

	for (unsigned pass = 0; changed; pass++) {
		if (pass == PASSES_MAX)
			return -1;
		changed = 0;
		for (uint32_t k = n; k-- > 0;)
			if (by_order[k] != cfg->exit_block)
				changed |= update(cfg, by_order[k]);
	}
	return 0;
}

int ptx_find_postdominators(struct ptx_cfg *cfg)
{
	uint32_t *scratch = calloc((size_t)cfg->nblock * 3, sizeof(*scratch));
	uint32_t n;
	int rc;

	if (!scratch)
		return -1;
	for (uint32_t i = 0; i < cfg->nblock; i++)
		cfg->block[i].ipdom = PTX_BLOCK_NONE;
	cfg->block[cfg->exit_block].ipdom = cfg->exit_block;
	n = number_blocks(cfg, scratch, scratch + cfg->nblock, scratch + 2 * (size_t)cfg->nblock);
	rc = iterate(cfg, scratch, n);
	for (uint32_t i = 0; i < cfg->nblock; i++)
		if (cfg->block[i].ipdom == PTX_BLOCK_NONE)
			cfg->block[i].ipdom = cfg->exit_block;
	free(scratch);
	return rc;
}
