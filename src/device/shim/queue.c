/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel that cannot be evicted is preempted by not launching the next one,
 * so only so much may queue up; the GPU is kept busy meanwhile.  See queue.h.
 */
#define _GNU_SOURCE
#include "device/shim/queue.h"

#include <time.h>

#include "common/clock.h"
#include "device/shim/riders.h"

/* So much predicted time may queue up in kernels that cannot be evicted while others wait; alone: riders.h. */
#define CONTENDED_NS (1 * GS_NS_PER_MS)
#define NAP_NS 20000
/* What is still there after this and several times what it was to take may wait for the program itself. */
#define PATIENCE_NS (100 * GS_NS_PER_MS)
#define PATIENCE_TIMES 4
#define PATIENCE_MAX_NS (10 * GS_NS_PER_S)
/* And that long where nothing says what it was to take. */
#define PATIENCE_UNKNOWN_NS (1 * GS_NS_PER_S)

static uint64_t patience_ns(void)
{
	uint64_t ns = PATIENCE_NS, queued = shim_launch_queued_ns();

	if (shim_launch_queued_unknown() >= SHIM_QUEUE_UNKNOWN)
		ns = PATIENCE_UNKNOWN_NS;
	return queued < PATIENCE_MAX_NS / PATIENCE_TIMES ? ns + PATIENCE_TIMES * queued : ns + PATIENCE_MAX_NS;
}

/* What is known of the launch's own time by now: one before it may have ended meanwhile.  Still in PREP. */
static uint64_t alone_ns(struct shim_launch *l)
{
	uint64_t ns = l->time->tpt_ps * l->nt / 1000;

	gs_page_store(l->stub->alone_ns, ns);
	return ns;
}

static int too_much(const struct shim_launch *l, uint64_t ns, uint64_t bound, unsigned int unknown)
{
	return ns > bound || (!l->time->tpt_ps && unknown >= SHIM_QUEUE_UNKNOWN);
}

/* Whoever is alone may have as much out in each stream as else in all: they run beside each other (queue.h). */
static int full(const struct shim_session *s, const struct shim_launch *l, CUstream stream)
{
	uint32_t contended = gs_page_load(s->page->contended);
	uint64_t bound = contended ? CONTENDED_NS : SHIM_QUEUE_ALONE_NS, ns;
	unsigned int unknown;

	if (!too_much(l, shim_launch_queued_ns(), bound, shim_launch_queued_unknown()))
		return 0;
	if (contended || gs_page_load(s->page->shared))
		return 1;
	ns = shim_launch_queued_in(stream, &unknown);
	return too_much(l, ns, bound, unknown);
}

void shim_queue_enter(struct shim_session *s, struct shim_launch *l, CUstream stream)
{
	static const struct timespec nap = { 0, NAP_NS };
	uint64_t from = 0;

	while (full(s, l, stream)) {
		shim_launch_reap(s);
		if (!full(s, l, stream))
			break;
		if (!from)
			from = gs_clock_ns();
		if (gs_clock_ns() - from > patience_ns())
			break;
		nanosleep(&nap, NULL);
	}
	/* Those that rode along are in the queue, too. */
	shim_launch_queue(l, stream, (from ? alone_ns(l) : gs_page_load(l->stub->alone_ns)) + gs_page_load(l->stub->leave_ns),
			  !l->time->tpt_ps);
}
