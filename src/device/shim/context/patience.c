/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to give up waiting for preemptible kernels; see patience.h. */
#define _GNU_SOURCE
#include "device/shim/context/patience.h"

#include "common/clock.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/session/session.h"

/* If the program waits for itself, it may do so again and again. So each further wait is half as
 * long, until one succeeds. */
#define PATIENCE_HALVES 10
/* While another client has the time slice, an evicted kernel cannot end, so that time counts this
 * many times less. */
#define AWAY_TIMES 16

int shim_patience_ends(struct shim_patience *p, const struct shim_session *s)
{
	uint64_t now = gs_clock_ns();
	unsigned int was = *p->in_vain;

	if (p->then)
		p->waited_ns += (now - p->then) / (gs_page_load(s->page->grant) ? 1 : AWAY_TIMES);
	p->then = now;
	/* When the process ends, no agent relaunches the kernels. */
	if (s->stopping)
		return 1;
	if (p->waited_ns <= p->most_ns >> was)
		return 0;
	if (!shim_upcalls->keep_held())
		return 0;
	if (was < PATIENCE_HALVES)
		*p->in_vain = was + 1;
	return 1;
}

void shim_patience_rewarded(const struct shim_patience *p)
{
	if (p->then)
		*p->in_vain = 0;
}
