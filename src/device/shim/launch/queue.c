/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel that cannot be evicted is preempted by not launching the next one,
 * so only so much may queue up; the GPU is kept busy meanwhile.  See queue.h.
 */
#define _GNU_SOURCE
#include "device/shim/launch/queue.h"

#include <time.h>

#include "common/clock.h"
#include "device/shim/launch/untracked.h"

/*
 * So much predicted time may queue up in kernels that cannot be evicted: while somebody waits for
 * their end; while somebody more urgent uses the GPU and launches beside them, or anybody does
 * under MPS; and while others share the GPU by the driver's time slices, which that keeps full;
 * alone: untracked.h.  A training in PyTorch launches hardly faster than the GPU computes, so a
 * queue of 0.5 ms in the second case cost it a tenth of its rate.
 */
#define CONTENDED_NS (500 * GS_NS_PER_US)
#define BESIDE_NS (2 * GS_NS_PER_MS)
#define SHARED_NS (4 * GS_NS_PER_MS)
/* Of whoever is alone, in all streams together. */
#define STREAMS_NS (1 * GS_NS_PER_S)
#define STREAMS_UNKNOWN (4 * SHIM_QUEUE_UNKNOWN)
#define CONTENDED_UNKNOWN 1 /* it may be long */
#define NAP_NS 20000
#define SPIN_NS \
	(300 * GS_NS_PER_US) /* of a wait is spent awake: a nap may take 80 us, in which the GPU \
				runs dry */
/* What is still there after this and several times what it was to take may wait for the program
 * itself. */
#define PATIENCE_NS (100 * GS_NS_PER_MS)
#define PATIENCE_TIMES 4
#define PATIENCE_MAX_NS (10 * GS_NS_PER_S)
/* And that long where nothing says what it was to take. */
#define PATIENCE_UNKNOWN_NS (1 * GS_NS_PER_S)

/* What is out in front of a launch. */
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

/* What is known of the launch's own time by now: one before it may have ended meanwhile.  Still in
 * PREP. */
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
 * Whoever is alone may have as much out in each stream as else in all, as they run beside each
 * other (queue.h); but who comes then must not find more than a fraction of what makes a program
 * overdue (EvictDeadline).
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
	/* Untracked launches are in the queue, too. */
	shim_launch_queue(l, stream,
			  (from ? alone_ns(l) : gs_page_load(l->slot->alone_ns)) +
				  gs_page_load(l->slot->leave_ns),
			  !l->time->tpt_ps);
}
