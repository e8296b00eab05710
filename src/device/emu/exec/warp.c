/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One warp: a group of lanes at one pc runs; the others wait at theirs.
 *
 * The group that runs is the one deepest in calls and, among those, at the
 * lowest pc, so that lanes meet again at the earliest point where their
 * paths join (code is laid out forward; the join follows both arms).  That
 * alone would starve a lane that holds a lock others spin for, therefore every
 * quantum the longest waiting group gets a turn ("independent thread
 * scheduling", PTX ISA section 3.1: forward progress for every thread).
 */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/warp.h"

#define QUANTUM 512
int emu_fault(struct emu_warp *w, int lane, enum emu_fault_kind kind, uint64_t address,
	      const char *what)
{
	struct emu_grid *g = w->block->grid;
	int none = 0;

	if (!atomic_compare_exchange_strong(&g->failed, &none, 1))
		return -1;
	g->fault.kind = kind;
	g->fault.address = address;
	g->fault.line = w->op ? w->op->line : 0;
	g->fault.pc = w->op ? (uint32_t)(w->op - g->program->op) : UINT32_MAX;
	for (int k = 0; k < 3; k++) {
		g->fault.block[k] = w->block->ctaid[k];
		g->fault.thread[k] = w->lane.tid[k][lane & 31];
	}
	strncpy(g->fault.what, what, sizeof(g->fault.what) - 1);
	atomic_store(&g->failed, 2);
	return -1;
}

static void spill(struct emu_warp *w)
{
	EACH_OF (w->mask, i)
		w->lane.pc[i] = w->pc;
	w->mask = 0;
}

/* The next group to run; mask stays 0 if no lane is ready. */
static void choose(struct emu_warp *w)
{
	uint32_t best = 0, others;
	int found = 0;

	w->mask = 0;
	w->stop = UINT32_MAX;
	EACH_OF (w->ready, i) {
		if (!found)
			best = i;
		else if (w->progress.rotate) {
			if ((int32_t)(w->lane.stamp[i] - w->lane.stamp[best]) < 0)
				best = i;
		} else if (w->lane.depth[i] > w->lane.depth[best] ||
			   (w->lane.depth[i] == w->lane.depth[best] &&
			    w->lane.pc[i] < w->lane.pc[best])) {
			best = i;
		}
		found = 1;
	}
	if (!found)
		return;
	w->progress.clock++;
	w->pc = w->lane.pc[best];
	w->depth = w->lane.depth[best];
	w->frame_off = w->lane.frame[best];
	w->frame = w->store.regs + w->frame_off;
	EACH_OF (w->ready, i) {
		if (w->lane.depth[i] != w->depth || w->lane.frame[i] != w->frame_off)
			continue;
		if (w->lane.pc[i] == w->pc) {
			w->mask |= 1u << i;
			w->lane.stamp[i] = w->progress.clock;
		} else if (w->lane.pc[i] > w->pc && w->lane.pc[i] < w->stop) {
			w->stop = w->lane.pc[i];
		}
	}
	others = w->ready & ~w->mask;
	w->progress.quantum = others ? QUANTUM : UINT32_MAX;
}

/* Lanes of mask end. */
static void lanes_exit(struct emu_warp *w, uint32_t mask)
{
	struct emu_block *b = w->block;

	w->live &= ~mask;
	w->ready &= ~mask;
	w->mask &= ~mask;
	b->live -= (uint32_t)__builtin_popcount(mask);
	/* lanes that wait for these in a warp-level sync must check again */
	w->ready |= w->sync;
	w->sync = 0;
	for (uint32_t i = 0; i < EMU_BARRIERS; i++)
		if (b->bar[i].active)
			emu_barrier_check(b, i);
}

static void branch(struct emu_warp *w, const struct emu_op *op, uint32_t taken)
{
	uint32_t rest = w->mask & ~taken;

	if (!rest) {
		w->pc = op->target;
	} else if (!taken) {
		w->pc++;
	} else {
		EACH_OF (taken, i)
			w->lane.pc[i] = op->target;
		EACH_OF (rest, i)
			w->lane.pc[i] = w->pc + 1;
		choose(w);
	}
}

static int branch_indexed(struct emu_warp *w, const struct emu_op *op, uint32_t taken)
{
	const struct emu_table *t = &w->block->grid->program->table[op->target];
	const uint32_t *index = ROW32(w, op->s[0]);
	uint32_t rest = w->mask & ~taken;

	EACH_OF (rest, i)
		w->lane.pc[i] = w->pc + 1;
	EACH_OF (taken, i) {
		if (index[i] >= t->n)
			return emu_fault(w, (int)i, EMU_FAULT_PC, index[i],
					 "brx.idx index out of range");
		w->lane.pc[i] = t->pc[index[i]];
	}
	choose(w);
	return 0;
}

static int enter(struct emu_warp *w, const struct emu_op *op, const struct emu_call *c,
		 const struct emu_func *f, uint32_t mask)
{
	const struct emu_program *p = w->block->grid->program;
	uint32_t frame = w->frame_off + (uint32_t)op->imm, size = (uint32_t)op->extra[0];

	if (w->depth + 1 >= p->needs.max_depth || frame + f->frame_bytes > p->needs.frame_total)
		return emu_fault(w, __builtin_ctz(mask), EMU_FAULT_STACK, 0, "call stack overflow");
	EACH_OF (mask, i) {
		struct emu_frame_rec *r = &w->store.stack[w->depth * EMU_LANES + i];
		uint8_t *local = w->store.local + (size_t)i * w->store.stride;
		uint32_t base = w->lane.local[i] + size + ((w->lane.extra[i] + 15) & ~15u);

		if (base + f->local_bytes > w->store.stride)
			return emu_fault(w, (int)i, EMU_FAULT_STACK, 0, "local stack overflow");
		for (uint32_t k = 0; k < c->nin; k++)
			memcpy(local + base +
				       (op->cls == EMU_C_CALL_INDIRECT ? f->param_at[k] :
									 c->in[k].to),
			       local + w->lane.local[i] + c->in[k].from, c->in[k].size);
		r->pc = w->pc + 1;
		r->frame = w->frame_off;
		r->local = w->lane.local[i];
		r->extra = w->lane.extra[i];
		w->lane.extra[i] = 0;
		w->lane.local[i] = base;
		w->lane.frame[i] = frame;
		w->lane.depth[i] = w->depth + 1;
		w->lane.pc[i] = f->entry;
	}
	for (uint32_t k = 0; k < c->nrin; k++)
		memcpy(w->store.regs + frame + c->rin[k].to, emu_row(w, c->rin[k].from),
		       c->rin[k].bytes);
	return 0;
}

static int call(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const struct emu_program *p = w->block->grid->program;
	const struct emu_call *c = &p->call[op->target];
	uint32_t rest = w->mask & ~mask;

	EACH_OF (rest, i)
		w->lane.pc[i] = w->pc + 1;
	if (op->cls == EMU_C_CALL) {
		if (enter(w, op, c, &p->func[c->func], mask))
			return -1;
	} else {
		const uint64_t *target = ROW64(w, op->s[0]);

		while (mask) {
			uint32_t first = (uint32_t)__builtin_ctz(mask), same = 0, k;

			EACH_OF (mask, i)
				if (target[i] == target[first])
					same |= 1u << i;
			for (k = 0; k < p->nfunc; k++)
				if (p->func[k].module_index + EMU_FUNC_BASE == target[first])
					break;
			if (k == p->nfunc)
				return emu_fault(w, (int)first, EMU_FAULT_PC, target[first],
						 "call of an address that is no function");
			if (enter(w, op, c, &p->func[k], same))
				return -1;
			mask &= ~same;
		}
	}
	choose(w);
	return 0;
}

static void ret(struct emu_warp *w, uint32_t mask)
{
	const struct emu_program *p = w->block->grid->program;
	uint32_t rest = w->mask & ~mask;

	if (!w->depth) {
		EACH_OF (rest, i)
			w->lane.pc[i] = w->pc + 1;
		lanes_exit(w, mask);
		choose(w);
		return;
	}
	EACH_OF (rest, i)
		w->lane.pc[i] = w->pc + 1;
	EACH_OF (mask, i) {
		const struct emu_frame_rec *r = &w->store.stack[(w->depth - 1) * EMU_LANES + i];
		const struct emu_op *at = &p->op[r->pc - 1];
		const struct emu_call *c = &p->call[at->target];
		const struct emu_func *f = &p->func[w->op->target];
		uint8_t *local = w->store.local + (size_t)i * w->store.stride;

		for (uint32_t k = 0; k < c->nout; k++)
			memcpy(local + r->local + c->out[k].to,
			       local + w->lane.local[i] +
				       (at->cls == EMU_C_CALL_INDIRECT ? f->ret_at[k] :
									 c->out[k].from),
			       c->out[k].size);
		for (uint32_t k = 0; k < c->nrout; k++) {
			uint32_t lane = c->rout[k].bytes / EMU_LANES;

			memcpy(w->store.regs + r->frame + c->rout[k].to + i * lane,
			       w->frame + c->rout[k].from + i * lane, lane);
		}
		w->lane.local[i] = r->local;
		w->lane.extra[i] = r->extra;
		w->lane.frame[i] = r->frame;
		w->lane.depth[i] = w->depth - 1;
		w->lane.pc[i] = r->pc;
	}
	choose(w);
}

/* Barrier operations: sub 0 sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or. */
static int barrier(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	struct emu_block *b = w->block;
	uint32_t first = (uint32_t)__builtin_ctz(mask), id = ROW32(w, op->s[0])[first],
		 rest = w->mask & ~mask;
	uint32_t pred, n = (uint32_t)__builtin_popcount(mask);
	struct emu_barrier *bar;

	if (id >= EMU_BARRIERS)
		return emu_fault(w, (int)first, EMU_FAULT_BARRIER, id,
				 "barrier number out of range");
	bar = &b->bar[id];
	if (!bar->active) {
		memset(bar, 0, sizeof(*bar));
		bar->active = 1;
		bar->pred_and = 1;
	}
	if (op->s[1] != EMU_NO_ROW)
		bar->expected = ROW32(w, op->s[1])[first];
	if (op->sub >= 2) {
		pred = PRED(w, op->s[2]);
		pred = (op->mode.flags & EMU_F_SAT ? ~pred : pred) & mask;
		bar->pred_count += (uint32_t)__builtin_popcount(pred);
		bar->pred_or |= pred != 0;
		bar->pred_and &= pred == mask;
	}
	if (op->sub == 1) {
		/* PTX ISA, bar: the count is in whole warps */
		bar->gone += op->s[1] != EMU_NO_ROW && mask == w->live ? EMU_LANES : n;
		w->pc++;
		emu_barrier_check(b, id);
		return 0;
	}
	EACH_OF (mask, i) {
		w->lane.pc[i] = w->pc;
		w->lane.bar[i] = id;
	}
	EACH_OF (rest, i)
		w->lane.pc[i] = w->pc + 1;
	bar->arrived += n;
	w->barred |= mask;
	w->ready &= ~mask;
	w->mask = 0;
	emu_barrier_check(b, id);
	choose(w);
	return 0;
}

/* bar.warp.sync: lanes may arrive from different places. */
static void warp_barrier(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const struct emu_op *ops = w->block->grid->program->op;
	uint32_t need = ROW32(w, op->s[3])[__builtin_ctz(mask)] & w->live, here = mask,
		 rest = w->mask & ~mask;

	if (!(need & ~here) || w->progress.force) {
		w->progress.force = 0;
		w->pc++;
		return;
	}
	EACH_OF (w->sync, i)
		if (ops[w->lane.pc[i]].cls == EMU_C_BARWARP)
			here |= 1u << i;
	EACH_OF (rest, i)
		w->lane.pc[i] = w->pc + 1;
	if (need & ~here) {
		EACH_OF (mask, i)
			w->lane.pc[i] = w->pc;
		w->sync |= mask;
		w->ready &= ~mask;
	} else {
		EACH_OF (mask, i)
			w->lane.pc[i] = w->pc + 1;
		here &= w->sync & need;
		EACH_OF (here, i)
			w->lane.pc[i]++;
		w->sync &= ~here;
		w->ready |= here;
	}
	choose(w);
}

/* shfl.sync and its like: all named lanes execute the same one. */
static int warp_sync(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t need, waiting = 0, rest = w->mask & ~mask;

	need = op->s[3] == EMU_NO_ROW ? mask : ROW32(w, op->s[3])[__builtin_ctz(mask)] & w->live;
	if (need & ~mask) {
		EACH_OF (w->sync, i)
			if (w->lane.pc[i] == w->pc && w->lane.frame[i] == w->frame_off &&
			    w->lane.depth[i] == w->depth)
				waiting |= 1u << i;
		if ((need & ~(mask | waiting)) && !w->progress.force) {
			EACH_OF (mask, i)
				w->lane.pc[i] = w->pc;
			EACH_OF (rest, i)
				w->lane.pc[i] = w->pc + 1;
			w->sync |= mask;
			w->ready &= ~mask;
			choose(w);
			return 0;
		}
		w->progress.force = 0;
		waiting &= need;
		w->sync &= ~waiting;
		w->ready |= waiting;
		w->mask |= waiting;
		mask |= waiting;
	}
	if (op->fn(w, op, mask))
		return -1;
	w->pc++;
	return 0;
}

static int control(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	switch (op->cls) {
	case EMU_C_BRA:
		branch(w, op, mask);
		return 0;
	default:
		break;
	}
	if (!mask) {
		w->pc++;
		return 0;
	}
	switch (op->cls) {
	case EMU_C_BRX:
		return branch_indexed(w, op, mask);
	case EMU_C_CALL:
	case EMU_C_CALL_INDIRECT:
		return call(w, op, mask);
	case EMU_C_RET:
		ret(w, mask);
		return 0;
	case EMU_C_EXIT: {
		uint32_t rest = w->mask & ~mask;

		EACH_OF (rest, i)
			w->lane.pc[i] = w->pc + 1;
		lanes_exit(w, mask);
		choose(w);
		return 0;
	}
	case EMU_C_BAR:
		return barrier(w, op, mask);
	case EMU_C_BARWARP:
		warp_barrier(w, op, mask);
		return 0;
	case EMU_C_WARPSYNC:
		return warp_sync(w, op, mask);
	default:
		return emu_fault(w, __builtin_ctz(mask), EMU_FAULT_TRAP, 0, "trap");
	}
}

enum emu_run emu_warp_run(struct emu_warp *w, uint32_t budget)
{
	const struct emu_op *ops = w->block->grid->program->op;

	if (!w->mask)
		choose(w);
	w->progress.yield = 0;
	w->progress.round_began = w->progress.count;
	while (w->mask) {
		const struct emu_op *op = &ops[w->pc];
		uint32_t mask = w->mask;

		if (op->guard != EMU_NO_ROW) {
			uint32_t p = PRED(w, op->guard);

			mask &= op->guard_negated ? ~p : p;
		}
		w->op = op;
		w->progress.count +=
			mask == EMU_FULL ? EMU_LANES : (uint32_t)__builtin_popcount(mask);
		if (op->cls == EMU_C_ALU) {
			if (mask && op->fn(w, op, mask))
				return EMU_RUN_FAULT;
			w->pc++;
		} else if (control(w, op, mask)) {
			return EMU_RUN_FAULT;
		}
		if (w->pc >= w->stop) {
			spill(w);
			choose(w);
		} else if (w->progress.quantum != UINT32_MAX && !--w->progress.quantum) {
			spill(w);
			w->progress.rotate = !w->progress.rotate;
			choose(w);
		}
		if (!--budget || w->progress.yield) {
			if (w->progress.yield && (w->ready & ~w->mask)) {
				spill(w);
				w->progress.rotate = 1;
				choose(w);
			}
			return EMU_RUN_MORE;
		}
	}
	return w->live ? EMU_RUN_BLOCKED : EMU_RUN_DONE;
}
