/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one launch enqueues stays together in its stream.
 *
 * A held kernel is two operations (the variant, the wait behind it), one that is
 * left as it is three (the mark "started", the kernel, the mark DONE), and the
 * driver has no call that enqueues them as one.  If another thread's held
 * kernel came between the marks, the daemon would wait for a kernel that the
 * hold keeps off the GPU; if another thread's kernel came between a variant and
 * its wait, it would run in the middle of an evicted kernel.  So two launches of
 * which one holds, in streams that order their work among each other, pass
 * one after the other; and so do two that hold nothing while a kernel is held that
 * the legacy default stream waits for.  Launches in all other streams, and those
 * that hold nothing else, never wait for each other; nor does the agent, which relaunches.
 *
 * A program that launches with one thread only pays next to nothing for this.
 *
 * No mutex is held while the driver is entered.  A launch that waits here
 * waits for a thread that is inside the driver with an operation of the same
 * stream (or of the legacy default stream, when either is that), where the
 * driver itself would have them wait on each other.
 */
#ifndef GPUSHARE_SHIM_ORDER_H
#define GPUSHARE_SHIM_ORDER_H

#include "device/shim/base/shim.h"

struct shim_context;

/* One launch between its first operation and its last; on its caller's stack. */
struct shim_section {
	const struct shim_context *ctx;
	CUstream stream;
	enum {
		SHIM_LANE_OWN,
		SHIM_LANE_BLOCKING,
		SHIM_LANE_DEFAULT
	} lane; /* how it meets the legacy default stream */
	int blocks;
	struct shim_owned *own;    /* it is the owner's (order.c); NULL: it is not */
	struct shim_section *next; /* came later */
};

/* Is the stream the legacy default one, or does it synchronise with it?  Asks the driver about a
 * created one. */
int shim_stream_is_legacy(CUstream stream);

/* order.c says what they are and who may move them. */
#define SHIM_THREAD_SHARED ((uintptr_t)0)
#define SHIM_THREAD_NOBODY (~(uintptr_t)0)
extern _Atomic(struct shim_section *) shim_order_sole;

/* What is not over with one look: becoming the owner, and everything in the list. */
void shim_order_enter_late(struct shim_section *p);
void shim_order_leave_late(struct shim_section *p);

static SHIM_INLINE int shim_is_default(CUstream stream)
{
	return stream == NULL || stream == CU_STREAM_LEGACY;
}

/* The owner's own store, and whether it still is the owner: the compiler leaves them in that order,
 * and the barrier the CPU. */
static SHIM_INLINE int shim_order_own(struct shim_section *p, struct shim_owned *own)
{
	atomic_store_explicit(&own->section, p, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	return atomic_load_explicit(&shim_launch_thread, memory_order_relaxed) !=
	       SHIM_THREAD_SHARED;
}

/* One within another, as in a profiler's callback: both must be found then. */
static SHIM_INLINE int shim_order_enter_owned(struct shim_section *p, struct shim_owned *own)
{
	if (SHIM_RARELY(atomic_load_explicit(&own->section, memory_order_relaxed)))
		return 0;
	p->own = own;
	return shim_order_own(p, own);
}

/*
 * Of the owner, for what holds nothing while no default stream has held anything:
 * shim_order_enter() where it is over with one look, or 0: shim_order_enter_late() is to be called.
 */
static SHIM_INLINE int shim_order_enter_alone(struct shim_section *p,
					      const struct shim_context *ctx, CUstream stream,
					      struct shim_owned *own)
{
	p->ctx = ctx;
	p->stream = stream;
	p->blocks = 0;
	p->own = NULL;
	p->lane = shim_is_default(stream) ? SHIM_LANE_DEFAULT : SHIM_LANE_BLOCKING;
	return shim_order_enter_owned(p, own);
}

/*
 * Wait until nothing that came before is in the way.  holds: a variant and its
 * wait are to be enqueued, and `legacy` is shim_stream_is_legacy().
 */
static inline void shim_order_enter(struct shim_section *p, const struct shim_context *ctx,
				    CUstream stream, int blocks, int legacy)
{
	struct shim_owned *own = shim_owned_here();
	struct shim_section *nobody = NULL;
	int in;

	p->ctx = ctx;
	p->stream = stream;
	p->blocks = blocks;
	p->own = NULL;
	if (shim_is_default(stream)) {
		p->lane = SHIM_LANE_DEFAULT;
		if (blocks)
			shim_say_uncommon(SHIM_UNCOMMON_DEFAULT_BLOCKED);
	} else {
		/*
		 * Which streams synchronise with the default one is a question to the driver for
		 * each launch, and of interest once one is held there.  Until then all are taken
		 * for such: at worst one launch waits once for a stream that it need not.
		 */
		if (!blocks)
			legacy = !shim_is_uncommon(SHIM_UNCOMMON_DEFAULT_BLOCKED) ||
				 shim_stream_is_legacy(stream);
		p->lane = legacy ? SHIM_LANE_BLOCKING : SHIM_LANE_OWN;
	}
	if (own)
		in = shim_order_enter_owned(p, own);
	else
		in = atomic_load_explicit(&shim_launch_thread, memory_order_acquire) ==
			     SHIM_THREAD_SHARED &&
		     atomic_compare_exchange_strong(&shim_order_sole, &nobody, p);
	if (SHIM_RARELY(!in))
		shim_order_enter_late(p);
}

static SHIM_INLINE void shim_order_leave(struct shim_section *p)
{
	struct shim_section *self = p;
	int out;

	if (p->own)
		out = shim_order_own(NULL, p->own);
	else
		out = atomic_compare_exchange_strong(&shim_order_sole, &self, NULL);
	if (SHIM_RARELY(!out))
		shim_order_leave_late(p);
}

/*
 * Before the first launch, and again in a forked child: as long as one thread alone launches, its
 * critical section cost no locked operation.  Takes microseconds while the process has one thread,
 * 15 ms later.
 */
void shim_order_begin(void);

/* In a forked child: what other threads of the parent were doing does not go on here. */
void shim_order_forked(void);

#endif
