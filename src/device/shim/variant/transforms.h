/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a launch does differently for each transform: a table of operations each, in
 * launch/persistent.c and launch/guarded.c. Streams, slots, critical sections, channels and the
 * agent's part are the same for all of them.
 */
#ifndef GPUSHARE_SHIM_TRANSFORMS_H
#define GPUSHARE_SHIM_TRANSFORMS_H

#include "device/shim/base/shim.h"
#include "device/ptx/transform.h"

struct shim_context;
struct shim_launch;
struct shim_session;

/* How a running kernel is told to leave: by a word of 32 bits in device memory. */
struct shim_signal {
	CUdeviceptr word;
	uint32_t stay, leave; /* its values */
	uint32_t *image;      /* the word's value as the host wrote it; accessed atomically */
	CUdeviceptr counter;  /* a word of 64 bits: units that have begun so far, for force.c */
};

struct shim_transform {
	uint32_t param_bytes; /* size of the parameter behind the program's own */
	/* The proxy may not exist, so if it has not reacted for a while the agent gives the order
	 * as well. */
	int doubtful_proxy;

	/* Once it has been ordered to leave, a kernel that may have begun must not be told to stay
	 * before all of it has left: blocks that begin then would run although some before them
	 * have left, and those would count as done. */
	int order_stands;

	/* It keeps to the page's `part` (GS_SLOT_DIVIDES). */
	int divides;

	/* Can its launches go out in this context? Returns 1; -1: never; 0: something must be
	 * loaded first, and then the caller closes the barrier and calls again with `closed` 1. */
	int (*equip)(struct shim_context *c, int closed);

	/* Can a launch with this grid be transformed? */
	int (*fits)(struct shim_launch *l);

	/* Writes the transform's parameter into l->as.packed, and collects in l->as.write what must
	 * be written before the first launch. The stream has been counted as blocked before. */
	void (*prepare)(const struct shim_session *s, struct shim_launch *l);

	/* Launches, in a stream of its own, what watches for the order to leave while the variant
	 * runs. Call it before launch(), and before the event that times the variant: an idle GPU
	 * would wait for this launch between the two. NULL: nothing does. */
	void (*watch)(struct shim_launch *l);

	/* Enqueues the variant and what belongs to it, the first time or again; the context must be
	 * current. */
	CUresult (*launch)(struct shim_launch *l, CUstream stream);

	/* Fills in how this launch is told to leave. */
	void (*signal)(const struct shim_launch *l, struct shim_signal *to);

	/* Call before a relaunch: enqueues in the context's relaunch stream what makes it continue
	 * where it left. */
	CUresult (*resume)(const struct shim_session *s, struct shim_launch *l);

	/* The launch did not go out, so what l->as.write has may not have been written. */
	void (*forget)(struct shim_launch *l);

	/*
	 * How long it takes to leave from when it sees the order, ns: a block-task, which takes
	 * task_ns, or as long as it heeds none if that is longer, and what has not begun by then.
	 */
	uint64_t (*leave_ns)(const struct shim_launch *l, uint64_t task_ns);
};

/* Each transform registers itself when the library is loaded. */
void shim_transform_add(enum ptx_transform_kind kind, const struct shim_transform *transform);

/* The transform of that kind; NULL: the shim does not launch variants of it. */
const struct shim_transform *shim_transform_of(enum ptx_transform_kind kind);

/* Adds a write of 32 or 64 bits as op[n], and returns n + 1. The caller provides the room. */
unsigned int shim_write_op(CUstreamBatchMemOpParams *op, unsigned int n, int bits, CUdeviceptr at,
			   uint64_t value);

#endif
