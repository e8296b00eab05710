/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sliced variant as the shim runs it: range after range of the grid, in one stream. */
#define _GNU_SOURCE
#include "transformed.h"
#include "device/ptx/slice.h"

/* Block-tasks of the n-th slice. */
static uint64_t length_of(const struct way *w, unsigned n, uint64_t left)
{
	uint64_t len = w->probe_every ? w->probe_every : w->every ? w->every : left;

	if (w->limit_us) /* any lengths */
		len = 1 + (w->seed * 7919u + n * 104729u + w->limit_us) % 13;
	return len < left ? len : left;
}

unsigned sliced_run(struct launch *l, void *variant, const struct board *b, const struct way *w)
{
	const struct test_case *c = l->c;
	uint64_t all = case_tasks(c), base = 0;
	unsigned n = 0;

	while (base < all) {
		uint64_t len = length_of(w, n, all - base);
		struct gs_slice slice = gs_slice_at(base, c->grid[0], c->grid[1], c->grid[2]);

		l->pointer[l->nargs] = &slice;
		DO(l->drv->launch(variant, (unsigned)len, 1, 1, c->block[0], c->block[1],
				  c->block[2], c->shared, b->stream, l->pointer, NULL));
		base += len;
		n++;
	}
	if (w->behind)
		image_take(l, w->behind, b->stream);
	DO(l->drv->stream_sync(b->stream));
	return n - 1;
}
