/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps together what one launch enqueues in its stream.
 *
 * A preemptible launch is two operations: the variant and the wait behind it. A launch as written
 * is three: the "started" marker, the kernel and the completion marker. The driver has no call that
 * enqueues them as one. If another thread's preemptible launch came between the markers, the daemon
 * would wait for a kernel that the other one's wait keeps off the GPU. If another thread's kernel
 * came between a variant and its wait, it would run in the middle of an evicted kernel.
 *
 * So two launches pass one after the other if their streams order their work among each other and
 * at least one of the launches is preemptible. Two launches that are not preemptible do so, too,
 * while a preemptible kernel is out for which the legacy default stream waits. Launches in other
 * streams, and launches as written otherwise, never wait for each other; nor does the agent when it
 * relaunches.
 *
 * This costs a program that launches with one thread next to nothing.
 *
 * No mutex is held while the driver is entered. A launch that waits here waits for a thread that is
 * inside the driver with an operation of the same stream (or of the legacy default stream, if
 * either is that); there the driver itself would let one wait for the other.
 */
#ifndef GPUSHARE_SHIM_ORDER_H
#define GPUSHARE_SHIM_ORDER_H

#include "device/shim/base/shim.h"

struct shim_context;

/* One launch between its first operation and its last; on its thread's stack. */
struct shim_section {
	const struct shim_context *ctx;
	CUstream stream;
	enum {
		SHIM_LANE_OWN,
		SHIM_LANE_BLOCKING,
		SHIM_LANE_DEFAULT
	} lane; /* how its stream is ordered with the legacy default stream */
	int blocks;
	struct shim_owned *own;    /* set for the launch thread (order.c); else NULL */
	struct shim_section *next; /* the next one, which came later */
};

/* Is the stream the legacy default stream, or does it synchronise with it? Asks the driver about a
 * created stream. */
int shim_stream_is_legacy(CUstream stream);

/* How many streams the program has destroyed so far, modulo 2^32. The driver may give a destroyed
 * stream's handle to a new one while work of the old one is still queued, so an equal handle means
 * the same stream only if this number has not changed. */
extern _Atomic uint32_t shim_streams_destroyed;

/* order.c says what these mean and who may change them. */
#define SHIM_THREAD_SHARED ((uintptr_t)0)
#define SHIM_THREAD_NOBODY (~(uintptr_t)0)
extern _Atomic(struct shim_section *) shim_order_sole;

/* The slow paths: becoming the launch thread, and everything that needs the list. */
void shim_order_enter_late(struct shim_section *p);
void shim_order_leave_late(struct shim_section *p);

/* Is it the legacy default stream? */
static SHIM_INLINE int shim_is_default(CUstream stream)
{
	return stream == NULL || stream == CU_STREAM_LEGACY;
}

/* Stores the launch thread's section and then checks that it is still the launch thread. The
 * compiler keeps that order, and the other thread's membarrier makes the processor keep it. */
static SHIM_INLINE int shim_order_own(struct shim_section *p, struct shim_owned *own)
{
	atomic_store_explicit(&own->section, p, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	return atomic_load_explicit(&shim_launch_thread, memory_order_relaxed) !=
	       SHIM_THREAD_SHARED;
}

/* Sections can be nested, as in a profiler's callback; then both must be found, so the inner one
 * takes the slow path. */
static SHIM_INLINE int shim_order_enter_owned(struct shim_section *p, struct shim_owned *own)
{
	if (SHIM_RARELY(atomic_load_explicit(&own->section, memory_order_relaxed)))
		return 0;
	p->own = own;
	return shim_order_own(p, own);
}

/* shim_order_enter() for the launch thread and a launch as written, while no preemptible launch has
 * used a default stream. Returns 0 if the caller must call shim_order_enter_late(). */
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
 * Enters the critical section: waits until no section that came before is in the way. blocks: the
 * launch is preemptible, so a variant and its wait are enqueued; `legacy` is then
 * shim_stream_is_legacy(). *p must stay valid until shim_order_leave().
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
		 * Finding out whether a stream synchronises with the default stream means asking
		 * the driver for each launch, and matters only once a preemptible launch has used
		 * the default stream. Until then every stream is treated as if it did: at worst one
		 * launch waits once for nothing.
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

/* Leaves the critical section, once everything of the launch is enqueued. */
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
 * Call before the first launch, and again in a forked child. As long as only one thread launches,
 * its critical section costs no locked operation. Takes microseconds while the process has one
 * thread, and 15 ms later.
 */
void shim_order_begin(void);

/* In a forked child: forgets the parent's sections. */
void shim_order_forked(void);

#endif
