/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block: its memory, the turns of its warps, and its barriers. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/emu/exec/warp.h"

static size_t align_up(size_t n, size_t a)
{
	return (n + a - 1) & ~(a - 1);
}

/* Warps, registers, local memory and shared memory in one lazily populated mapping, kept while the
 * shape stays. */
static int dims(struct emu_block *b, struct emu_grid *g, uint32_t threads, uint32_t shared)
{
	const struct emu_program *p = g->program;
	uint32_t nwarp = (threads + EMU_LANES - 1) / EMU_LANES;
	size_t stride = align_up(p->needs.local_total, 16),
	       regs = align_up(p->needs.frame_total, 64);
	size_t stack = (size_t)p->needs.max_depth * EMU_LANES * sizeof(struct emu_frame_rec);
	size_t per_warp = align_up(regs + stride * EMU_LANES + stack + 256, 64);
	size_t head = align_up(nwarp * sizeof(struct emu_warp), 4096);
	size_t bytes = align_up(head + per_warp * nwarp + align_up(shared, 4096) + 4096, 4096);
	uint8_t *at;

	if (bytes > b->arena_bytes) {
		if (b->arena)
			munmap(b->arena, b->arena_bytes);
		b->arena_bytes = 0;
		b->arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (b->arena == MAP_FAILED) {
			b->arena = NULL;
			return -1;
		}
		b->arena_bytes = bytes;
	}
	memset(b->arena, 0, head);
	b->warp = (struct emu_warp *)(void *)b->arena;
	b->nwarp = nwarp;
	b->shared = b->arena + head;
	at = b->shared + align_up(shared, 4096);
	for (uint32_t i = 0; i < nwarp; i++, at += per_warp) {
		struct emu_warp *w = &b->warp[i];

		w->store.regs = at;
		w->store.local = at + align_up(regs, 64);
		w->store.stride = (uint32_t)stride;
		w->store.stack = (void *)(w->store.local + stride * EMU_LANES);
		w->constant = p->constant;
		w->block = b;
		w->id = i;
	}
	b->dims_for = p;
	b->dims_threads = threads;
	b->dims_grid = g->id;
	return 0;
}

static void warp_start(struct emu_warp *w, const struct emu_grid *g, uint32_t threads)
{
	uint32_t first = w->id * EMU_LANES,
		 n = threads - first < EMU_LANES ? threads - first : EMU_LANES;

	w->live = w->ready = n == EMU_LANES ? EMU_FULL : (1u << n) - 1;
	w->sync = w->barred = 0;
	w->frame = w->store.regs;
	w->frame_off = w->depth = 0;
	w->mask = w->live;
	w->pc = g->program->func[0].entry;
	w->stop = UINT32_MAX;
	w->progress.quantum = UINT32_MAX;
	w->progress.rotate = w->progress.yield = w->progress.force = 0;
	w->progress.clock = 0;
	w->progress.count = w->progress.round_began = 0;
	for (uint32_t i = 0; i < EMU_LANES; i++) {
		uint32_t t = first + i;

		w->lane.tid[0][i] = t % g->ntid[0];
		w->lane.tid[1][i] = t / g->ntid[0] % g->ntid[1];
		w->lane.tid[2][i] = t / g->ntid[0] / g->ntid[1];
		w->lane.pc[i] = w->pc;
		w->lane.extra[i] = 0;
		w->lane.depth[i] = w->lane.frame[i] = w->lane.local[i] = w->lane.stamp[i] = 0;
	}
}

int emu_block_start(struct emu_block *b, struct emu_grid *g, uint64_t index)
{
	uint32_t threads = g->ntid[0] * g->ntid[1] * g->ntid[2];
	uint32_t shared = g->program->needs.dynamic_align_base + g->dynamic_shared;

	if (b->dims_for != g->program || b->dims_threads != threads || b->shared_bytes != shared ||
	    b->dims_grid != g->id) {
		if (dims(b, g, threads, shared))
			return -1;
	}
	b->grid = g;
	b->shared_bytes = shared;
	b->ctaid[0] = (uint32_t)(index % g->nctaid[0]);
	b->ctaid[1] = (uint32_t)(index / g->nctaid[0] % g->nctaid[1]);
	b->ctaid[2] = (uint32_t)(index / g->nctaid[0] / g->nctaid[1]);
	b->live = threads;
	memset(b->bar, 0, sizeof(b->bar));
	for (uint32_t i = 0; i < b->nwarp; i++)
		warp_start(&b->warp[i], g, threads);
	return 0;
}

static void release(struct emu_warp *w, uint32_t lanes, const struct emu_barrier *bar)
{
	EACH_OF (lanes, i) {
		const struct emu_op *op = &w->block->grid->program->op[w->lane.pc[i]];

		if (op->sub >= 2 && op->d != EMU_NO_ROW) {
			uint32_t *d =
				(uint32_t *)(void *)(w->store.regs + w->lane.frame[i] + op->d);

			if (op->sub == 2)
				d[i] = bar->pred_count;
			else
				*d = (*d & ~(1u << i)) |
				     (op->sub == 3 ? bar->pred_and : bar->pred_or) << i;
		}
		w->lane.pc[i]++;
	}
	w->barred &= ~lanes;
	w->ready |= lanes;
	if (w->mask) /* a group of this warp is running; it joins the released lanes when it chooses
			anew */
		w->progress.quantum = 1;
}

/* The warp's lanes that wait at the barrier. */
static uint32_t waiting(const struct emu_warp *w, uint32_t id)
{
	uint32_t lanes = 0;

	EACH_OF (w->barred, i)
		if (w->lane.bar[i] == id)
			lanes |= 1u << i;
	return lanes;
}

/* With a count, whole warps count (PTX ISA, bar): one whose live lanes are all here, as 32. */
/* Threads that count as arrived. */
static uint32_t arrived_at(const struct emu_block *b, uint32_t id)
{
	uint32_t n = b->bar[id].arrived + b->bar[id].gone;

	for (uint32_t k = 0; b->bar[id].expected && k < b->nwarp; k++) {
		const struct emu_warp *w = &b->warp[k];

		if (w->barred && waiting(w, id) == w->live)
			n += EMU_LANES - (uint32_t)__builtin_popcount(w->live);
	}
	return n;
}

void emu_barrier_check(struct emu_block *b, uint32_t id)
{
	struct emu_barrier *bar = &b->bar[id], done;
	uint32_t n = arrived_at(b, id);

	if (!n || n < (bar->expected ? bar->expected : b->live))
		return;
	done = *bar;
	memset(bar, 0, sizeof(*bar));
	for (uint32_t k = 0; k < b->nwarp; k++) {
		uint32_t lanes = b->warp[k].barred ? waiting(&b->warp[k], id) : 0;

		if (lanes)
			release(&b->warp[k], lanes, &done);
	}
}

/* Nobody can run: a warp-level sync whose lanes never come goes ahead; a barrier that cannot
 * complete is a fault. */
static enum emu_run stuck(struct emu_block *b)
{
	for (uint32_t i = 0; i < b->nwarp; i++) {
		struct emu_warp *w = &b->warp[i];

		if (w->sync) {
			w->ready |= w->sync;
			w->sync = 0;
			w->progress.force = 1;
			return EMU_RUN_MORE;
		}
	}
	for (uint32_t i = 0; i < b->nwarp; i++) {
		struct emu_warp *w = &b->warp[i];

		if (w->barred) {
			int lane = __builtin_ctz(w->barred);
			uint32_t id = w->lane.bar[lane], expected = b->bar[id].expected;
			char words[64];

			snprintf(words, sizeof(words),
				 "barrier that cannot complete: %u of %u threads came",
				 arrived_at(b, id), expected ? expected : b->live);
			w->op = &b->grid->program->op[w->lane.pc[lane]];
			emu_fault(w, lane, EMU_FAULT_BARRIER, id, words);
			break;
		}
	}
	return EMU_RUN_FAULT;
}

enum emu_run emu_block_run(struct emu_block *b, uint32_t budget)
{
	int ran = 0, live = 0;

	for (uint32_t i = 0; i < b->nwarp; i++) {
		struct emu_warp *w = &b->warp[i];

		if (!w->live)
			continue;
		live = 1;
		if (!w->ready)
			continue;
		ran = 1;
		if (emu_warp_run(w, budget) == EMU_RUN_FAULT)
			return EMU_RUN_FAULT;
	}
	if (!live)
		return EMU_RUN_DONE;
	return ran ? EMU_RUN_MORE : stuck(b);
}

uint64_t emu_block_instructions(const struct emu_block *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->nwarp; i++)
		n += b->warp[i].progress.count;
	return n;
}
