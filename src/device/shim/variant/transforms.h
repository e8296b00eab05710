/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a launch does differently for each transform: one table of operations for each,
 * persistent.c and guarded.c.  Streams, slots, order, channels and the
 * agent's part are the same for all of them.
 */
#ifndef GPUSHARE_SHIM_TRANSFORMS_H
#define GPUSHARE_SHIM_TRANSFORMS_H

#include "device/shim/base/shim.h"
#include "device/ptx/transform.h"

struct shim_context;
struct shim_launch;
struct shim_session;

/* How a kernel that runs is told to leave: a word of 32 bits in device memory. */
struct shim_signal {
	CUdeviceptr word;
	uint32_t stay, leave; /* its values */
	uint32_t *image;      /* what it is, as far as the host wrote it; accessed atomically */
	CUdeviceptr counter;  /* 64 bits: units let in so far, for force.c */
};

struct shim_transform {
	uint32_t param_bytes; /* of the parameter behind the program's own */
	/* A proxy that has not helped within a while may not be there: the agent tells as well. */
	int doubtful_proxy;

	/*
	 * Can its launches go out in this context?  1; -1: never.  0: something must be loaded
	 * first, for which the caller closes the barrier and calls again with `closed` 1.
	 */
	int (*equip)(struct shim_context *c, int closed);

	/* Can its grid be passed on? */
	int (*fits)(struct shim_launch *l);

	/*
	 * The launch's own parameter into l->as.packed, and into l->as.write what must be written
	 * before it goes out first.  It has been counted as a blocked stream by then.
	 */
	void (*prepare)(const struct shim_session *s, struct shim_launch *l);

	/* Enqueue the variant and what belongs to it, first or again; the context is current. */
	CUresult (*launch)(struct shim_launch *l, CUstream stream);

	void (*signal)(const struct shim_launch *l, struct shim_signal *to);

	/* Before a relaunch, in the context's relaunch stream: it goes on where it left. */
	CUresult (*resume)(const struct shim_session *s, struct shim_launch *l);

	/* It did not go out, and what l->as.write has may not have been written. */
	void (*forget)(struct shim_launch *l);

	/*
	 * How long it takes to leave from when it sees the order, ns: a block-task, which takes
	 * task_ns, or as long as it heeds none if that is longer, and what has not begun by then.
	 */
	uint64_t (*leave_ns)(const struct shim_launch *l, uint64_t task_ns);
};

/* Each adds itself as the library is loaded. */
void shim_transform_add(enum ptx_transform_kind kind, const struct shim_transform *transform);

/* NULL: the shim launches no variants of it. */
const struct shim_transform *shim_transform_of(enum ptx_transform_kind kind);

/* Append a write of 32 or 64 bits to op[n], and return n + 1. */
unsigned int shim_write_op(CUstreamBatchMemOpParams *op, unsigned int n, int bits, CUdeviceptr at,
			   uint64_t value);

#endif
