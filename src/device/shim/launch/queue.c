/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client whose kernels cannot be evicted is preempted by not letting it launch the next one. So
 * only a little may queue up, but enough to keep the GPU busy. See queue.h. */
#define _GNU_SOURCE
#include "device/shim/launch/queue.h"

#include <time.h>

#include "common/clock.h"
#include "device/shim/launch/untracked.h"

/*
 * How much predicted time may queue up in kernels that cannot be evicted. CONTENDED_NS: while
 * somebody waits for their end. BESIDE_NS: while a more urgent client uses the GPU and launches
 * beside them, or any client does under MPS. SHARED_NS: while others share the GPU by the driver's
 * time slices, which this keeps full. Alone: see untracked.h. A training in PyTorch launches hardly
 * faster than the GPU computes; in the second case a queue of 0.5 ms cost it a tenth of its rate.
 */
#define CONTENDED_NS (500 * GS_NS_PER_US)
#define BESIDE_NS (2 * GS_NS_PER_MS)
#define SHARED_NS (4 * GS_NS_PER_MS)
/* For a client that is alone, in all streams together. */
#define STREAMS_NS (1 * GS_NS_PER_S)
#define STREAMS_UNKNOWN (4 * SHIM_QUEUE_UNKNOWN)
#define CONTENDED_UNKNOWN 1 /* the kernel may be long */
#define NAP_NS 20000
/* How much of a wait is spent awake: a nap may take 80 us, in which the GPU runs out of work. */
#define SPIN_NS (300 * GS_NS_PER_US)
/* If the queue is still there after PATIENCE_NS and several times its predicted time, it may be
 * waiting for the program itself. */
#define PATIENCE_NS (100 * GS_NS_PER_MS)
#define PATIENCE_TIMES 4
#define PATIENCE_MAX_NS (10 * GS_NS_PER_S)
/* The same if its time is not known. */
#define PATIENCE_UNKNOWN_NS (1 * GS_NS_PER_S)

/* What is queued in front of a launch. */
struct queued {
	uint64_t ns;
	unsigned int unknown;
};

static uint64_t patience_ns(const struct queued *q)
{
	uint64_t ns = q->unknown >= SHIM_QUEUE_UNKNOWN ? PATIENCE_UNKNOWN_NS : PATIENCE_NS;

	return q->ns < PATIENCE_MAX_NS / PATIENCE_TIMES ? ns + PATIENCE_TIMES * q->ns :
							  ns + PATIENCE_MAX_NS;
}

/* The launch's own predicted time, which may have become known while it waited. The slot is still
 * in PREP. */
static uint64_t alone_ns(struct shim_launch *l)
{
	uint64_t ns = l->time->tpt_ps * l->tasks / 1000;

	gs_page_store(l->slot->alone_ns, ns);
	return ns;
}

static int too_much(const struct shim_launch *l, const struct queued *q, uint64_t ns,
		    unsigned int unknown)
{
	return q->ns > ns || (!l->time->tpt_ps && q->unknown >= unknown);
}

/*
 * Is the queue full? A client that is alone may queue in each stream what it may otherwise queue in
 * all, since streams run beside each other (queue.h). But a client that comes must not find more
 * than a fraction of EvictDeadline in front of it.
 */
static int full(const struct shim_session *s, const struct shim_launch *l, CUstream stream,
		struct queued *q)
{
	uint32_t contended = (uint32_t)shim_queue_is_short(s->page),
		 shared = gs_page_load(s->page->shared);
	uint64_t bound = gs_page_waited_for(s->page) ? CONTENDED_NS :
			 contended                   ? BESIDE_NS - SHIM_UNTRACKED_SHORT_PS / 1000 :
			 shared                      ? SHARED_NS :
						       shim_alone_ns(s->page);

	*q = (struct queued) { shim_launch_queued_ns(), shim_launch_queued_unknown() };
	if (!too_much(l, q, bound, contended ? CONTENDED_UNKNOWN : SHIM_QUEUE_UNKNOWN))
		return 0;
	if (contended || shared || too_much(l, q, STREAMS_NS, STREAMS_UNKNOWN))
		return 1;
	q->ns = shim_launch_queued_in(stream, &q->unknown);
	return too_much(l, q, bound, SHIM_QUEUE_UNKNOWN);
}

void shim_queue_enter(struct shim_session *s, struct shim_launch *l, CUstream stream)
{
	static const struct timespec nap = { 0, NAP_NS };
	uint64_t from = 0;
	struct queued q;

	while (full(s, l, stream, &q)) {
		shim_launch_reap(s);
		if (!full(s, l, stream, &q))
			break;
		if (!from)
			from = gs_clock_ns();
		if (gs_clock_ns() - from > patience_ns(&q))
			break;
		if (q.unknown || gs_clock_ns() - from > SPIN_NS)
			nanosleep(&nap, NULL);
		else
			__builtin_ia32_pause();
	}
	/* Count the untracked launches, too: leave_ns has their time. */
	shim_launch_queue(l, stream,
			  (from ? alone_ns(l) : gs_page_load(l->slot->alone_ns)) +
				  gs_page_load(l->slot->leave_ns),
			  !l->time->tpt_ps);
}
