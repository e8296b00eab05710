/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels' variants and long launches, for the reports; see facts.h. */
#define _GNU_SOURCE
#include "device/shim/launch/facts.h"

#include <string.h>
#include <time.h>

#include "device/shim/variant/variant.h"

/* The value BLOCKS_UNKNOWN stands for a number of blocks that the driver does not tell. */
#define BLOCKS_BITS 16
#define BLOCKS_MASK ((UINT64_C(1) << BLOCKS_BITS) - 1)
#define BLOCKS_UNKNOWN BLOCKS_MASK

static uint64_t count_blocks(const struct shim_kernel *k, uint32_t threads, uint32_t shared)
{
	int blocks = 0;

	if (REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, k->original, (int)threads,
							      shared) != CUDA_SUCCESS ||
	    blocks <= 0 || (uint64_t)blocks >= BLOCKS_UNKNOWN)
		return BLOCKS_UNKNOWN;
	return (uint64_t)blocks;
}

uint32_t shim_facts_blocks(const struct shim_kernel *k, uint32_t threads, uint32_t shared)
{
	_Atomic uint64_t *last = &k->code->facts.occupancy;
	uint64_t key = (uint64_t)threads << 44 | (uint64_t)shared << BLOCKS_BITS, known = *last;

	if ((known & ~BLOCKS_MASK) != key || !(known & BLOCKS_MASK)) {
		known = key | count_blocks(k, threads, shared);
		*last = known;
	}
	known &= BLOCKS_MASK;
	return known == BLOCKS_UNKNOWN ? 0 : (uint32_t)known;
}

void shim_facts_launch(const struct shim_session *s, struct shim_code *code, uint64_t blocks,
		       uint32_t at_once, uint64_t ns)
{
	struct shim_facts *f = &code->facts;
	double waves = at_once ? (double)blocks / at_once : 0;

	if (!at_once || !ns || ns <= s->variant_min_ns)
		return;
	f->blocks = blocks;
	f->at_once = at_once;
	/* If the grid does not fill the GPU, all its blocks run at once. */
	f->block_ns = waves > 1 ? (uint64_t)((double)ns / waves) : ns;
	f->changed = 1;
}

void shim_facts_used(struct shim_code *code)
{
	if (code->facts.since_s)
		return;
	code->facts.since_s = (uint64_t)time(NULL);
	code->facts.changed = 1;
}

int shim_facts_of(const struct shim_code *code, struct gs_msg_variant *to)
{
	const struct shim_facts *f = &code->facts;
	const struct shim_variant *v = atomic_load(&code->variants);

	memset(to, 0, sizeof(*to));
	to->number = code->number;
	to->since = f->since_s;
	to->blocks = f->blocks;
	to->block_ns = f->block_ns;
	to->at_once = f->at_once;
	if (v) {
		to->made_of = v->made_of;
		if (shim_variant_is_compared(v)) {
			to->written_ps = v->cost.written_ps;
			to->variant_ps = v->cost.variant_ps;
		}
	}
	return to->made_of || to->blocks;
}

struct telling {
	struct shim_session *session;
	int anyway, failed;
};

/* A kernel has several handles; the first one that is visited reports it. */
static void tell_of(struct shim_kernel *k, void *user)
{
	struct telling *t = user;
	struct shim_facts *f = &k->code->facts;
	struct gs_msg_variant is;

	if (t->failed || (!f->changed && !t->anyway))
		return;
	/* cleared before the facts are read, so a change meanwhile is reported next time */
	f->changed = 0;
	if (!shim_facts_of(k->code, &is) || gs_client_variant(t->session->client, &is) == 0)
		return;
	f->changed = 1;
	t->failed = 1;
}

int shim_facts_tell(struct shim_session *s, int anyway)
{
	struct telling t = { s, anyway, 0 };

	if (!s->connected)
		return -1;
	if (!gs_client_grant(s->client).variants) /* an older daemon does not know this message */
		return 0;
	shim_kernels_each(tell_of, &t);
	return t.failed ? -1 : 0;
}
