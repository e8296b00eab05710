/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs a program: grid, block and warp.  A block's warps run in one
 * thread of the host (an SM), so a block needs no lock; blocks of different
 * SMs meet in global memory only, through the host's atomics.
 */
#ifndef GPUSHARE_EMU_WARP_H
#define GPUSHARE_EMU_WARP_H

#include <stdatomic.h>
#include <stdint.h>

#include "device/emu/exec/ir.h"
#include "device/emu/exec/mem.h"

#define EMU_BARRIERS 16

enum emu_fault_kind {
	EMU_FAULT_NONE,
	EMU_FAULT_ADDRESS,
	EMU_FAULT_ALIGN,
	EMU_FAULT_TRAP,
	EMU_FAULT_ASSERT,
	EMU_FAULT_STACK,
	EMU_FAULT_PC,
	EMU_FAULT_BARRIER,
	EMU_FAULT_ILLEGAL,
};

/* The first fault of a grid. */
struct emu_fault {
	enum emu_fault_kind kind;
	uint32_t block[3], thread[3];
	uint32_t line; /* of the PTX */
	uint32_t pc;   /* of the program; UINT32_MAX: before its first operation */
	uint64_t address;
	char what[64];
};

/* One launch.  Shared by the SMs; next and left are atomic. */
struct emu_grid {
	const struct emu_program *program;
	const char *name;
	uint32_t nctaid[3], ntid[3];
	uint32_t dynamic_shared;
	uint8_t *param; /* program->param_bytes */
	uint64_t id;
	uint64_t total;        /* blocks */
	_Atomic uint64_t next; /* first block nobody took */
	_Atomic uint64_t left; /* blocks that have not ended */
	_Atomic int failed;
	struct emu_fault fault; /* valid once failed is 2 */
	struct emu_mem *mem;
	uint32_t nsm;
	uint32_t clock_khz;
	const _Atomic uint64_t
		*cycles;    /* the deterministic device's clock; NULL: the host's time */
	uint64_t workspace; /* device address of the grid barrier, for cooperative launches */
};

struct emu_block;

struct emu_frame_rec {
	uint32_t pc, frame, local, extra;
};

/* What belongs to a warp's functions while they run. */
struct emu_store {
	uint8_t *regs;  /* the whole register stack */
	uint8_t *local; /* lane l: local + l * stride */
	uint32_t stride;
	struct emu_frame_rec *stack; /* [depth * 32 + lane] */
};

/* What each lane has for itself. */
struct emu_lanes {
	uint32_t tid[3][EMU_LANES];
	uint32_t pc[EMU_LANES], depth[EMU_LANES], frame[EMU_LANES], local[EMU_LANES];
	uint32_t extra[EMU_LANES]; /* bytes of alloca behind the running function's local frame */
	uint32_t bar[EMU_LANES];
	uint32_t stamp[EMU_LANES]; /* of `clock`, when its group last ran */
};

/* How far the warp has come, and who of its groups is next. */
struct emu_progress {
	uint32_t clock;
	uint32_t quantum;     /* until the next group may run */
	uint8_t rotate;       /* the longest waiting group is next, not the one at the lowest pc */
	uint8_t yield;        /* the other warps are next */
	uint8_t force;        /* a warp-level sync continues with the lanes that have come */
	uint64_t count;       /* thread instructions */
	uint64_t round_began; /* count when the warp was last called */
};

struct emu_warp {
	uint8_t *frame; /* register rows of the running function */
	const uint8_t *constant;
	struct emu_block *block;
	struct emu_store store;
	uint32_t id;       /* in the block */
	uint32_t pc, mask; /* of the running group */
	uint32_t depth, frame_off;
	uint32_t stop;              /* pc at which another group waits */
	uint32_t live, ready, sync; /* lanes: not exited; may run; wait in a warp-level sync */
	uint32_t barred;            /* lanes that wait at a block barrier */
	struct emu_lanes lane;
	struct emu_progress progress;
	struct emu_range cache;  /* the last allocation hit */
	const struct emu_op *op; /* the running one, for a fault's line */
};

struct emu_barrier {
	uint32_t arrived;  /* threads that wait */
	uint32_t gone;     /* threads that came and went on (bar.arrive) */
	uint32_t expected; /* 0: all live threads */
	uint32_t pred_or, pred_and, pred_count;
	uint8_t active;
};

struct emu_block {
	struct emu_grid *grid;
	struct emu_warp *warp;
	uint32_t nwarp;
	uint32_t ctaid[3];
	uint32_t smid, slot;
	uint32_t live; /* threads not exited */
	uint32_t shared_bytes;
	uint8_t *shared;
	struct emu_barrier bar[EMU_BARRIERS];
	/* memory kept between blocks */
	uint8_t *arena;
	size_t arena_bytes;
	const struct emu_program *dims_for;
	uint32_t dims_threads;
	uint64_t dims_grid;
};

enum emu_run { EMU_RUN_MORE, EMU_RUN_BLOCKED, EMU_RUN_DONE, EMU_RUN_FAULT };

/* Run at most budget operations of the warp. */
enum emu_run emu_warp_run(struct emu_warp *warp, uint32_t budget);

/* Prepare block number `index` of the grid in this (zeroed or used) block.  -1: no memory. */
int emu_block_start(struct emu_block *block, struct emu_grid *grid, uint64_t index);
/* A turn for each warp: MORE, DONE, or FAULT (the grid's fault is filled). */
enum emu_run emu_block_run(struct emu_block *block, uint32_t budget);

/* Thread instructions executed by the block since its start. */
uint64_t emu_block_instructions(const struct emu_block *block);

/* Lanes of a barrier that is complete go on; called after arrivals and exits. */
void emu_barrier_check(struct emu_block *block, uint32_t barrier);

/* Fill the grid's fault (the first one wins).  Returns -1. */
int emu_fault(struct emu_warp *warp, int lane, enum emu_fault_kind kind, uint64_t address,
	      const char *what);

/*
 * Host address of size bytes at addr in the space, for the lane; NULL with
 * the fault filled.  align: the access's natural alignment.
 */
void *emu_translate(struct emu_warp *warp, int lane, enum emu_space space, uint64_t addr,
		    uint32_t size, uint32_t align);

/* Each lane of a mask; of `mask`, which a handler gets. */
#define EACH_OF(m, i) \
	for (uint32_t m_ = (m), i; m_ && ((i = (uint32_t)__builtin_ctz(m_)), 1); m_ &= m_ - 1)
#define EACH(i) EACH_OF (mask, i)

/* Row access. */
static inline void *emu_row(const struct emu_warp *w, int32_t row)
{
	uintptr_t base = row < 0 ? (uintptr_t)w->constant : (uintptr_t)w->frame;

	return (void *)(base + (uint32_t)(row < 0 ? ~row : row));
}
#define ROW32(w, r) ((uint32_t *)emu_row(w, r))
#define ROW64(w, r) ((uint64_t *)emu_row(w, r))
#define PRED(w, r) (*(uint32_t *)emu_row(w, r))

/* The address that a memory operation has in lane i. */
static inline uint64_t emu_lane_address(struct emu_warp *w, const struct emu_op *op, uint32_t i)
{
	uint64_t a = (uint64_t)op->imm;

	if (op->mode.flags & EMU_F_FRAME)
		return a + w->lane.local[i];
	if (op->mode.flags & EMU_F_NOBASE)
		return a;
	return a + (op->mode.flags & EMU_F_ADDR64 ? ROW64(w, op->s[0])[i] : ROW32(w, op->s[0])[i]);
}

#endif
