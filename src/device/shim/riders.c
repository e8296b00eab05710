/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches without marks; see riders.h. */
#define _GNU_SOURCE
#include "device/shim/riders.h"

#include "common/clock.h"
#include "device/shim/request.h"

/* Launches that the stubs have told of: their numbers. */
static _Atomic uint64_t launched;

/*
 * Launches that are over sooner than they could be told of ride along without
 * marks, stub and reap, which cost 1.3 to 1.9 us of host time each and the GPU about 3 (H200): between
 * two launches with a stub, so many and so much predicted time of them.  More where nobody else
 * uses the GPU: with marks every 4 ms, 27 kernels alone took 1.002 times as long, with marks every 16 1.0003 to 1.0006 (H200).
 */
#define RIDERS_MAX 31
#define RIDERS_PS (1000ull * 1000 * 1000)
#define RIDERS_ALONE_MAX 511

/*
 * All that is known of them in one word, since each locked operation is a tenth of what a rider
 * costs: their predicted time and how many they are since the last launch with a stub that was
 * left as it is, which accounts for it; and how many no stub's number counts yet.
 */
#define RIDING_PS ((UINT64_C(1) << 40) - 1)
#define RIDING_ONE (UINT64_C(1) << 40)
#define RIDING_UNTOLD_ONE (UINT64_C(1) << 52)
#define RIDING_COUNT(word) ((word) / RIDING_ONE % (RIDING_UNTOLD_ONE / RIDING_ONE))
#define RIDING_UNTOLD(word) ((word) / RIDING_UNTOLD_ONE)
static _Atomic uint64_t riding;
_Static_assert(SHIM_ONLY_NS * 1000 <= RIDING_PS && RIDERS_PS <= SHIM_ALONE_NS * 1000, "they fit");
_Static_assert(SHIM_ONLY_NS <= GS_STUB_RODE_NS_MAX, "the daemon believes it");
_Static_assert(RIDERS_ALONE_MAX < RIDING_UNTOLD_ONE / RIDING_ONE && RIDERS_MAX <= RIDERS_ALONE_MAX, "they fit");

int shim_rides(struct shim_session *s, const struct shim_request *r)
{
	uint64_t ps = shim_request_ps(r), max_ps, max, was;
	int shared = gs_page_load(s->page->shared) != 0;

	if (!ps || s->alone || r->graph || !gs_page_load(s->page->turn) ||
	    gs_page_load(s->page->contended) || shim_time_due(r->time, shim_time_launches(r->time), shared))
		return 0;
	max_ps = shared ? RIDERS_PS : shim_alone_ns(s->page) * 1000;
	max = shared ? RIDERS_MAX : RIDERS_ALONE_MAX;
	was = atomic_load_explicit(&riding, memory_order_relaxed);
	do {
		if (ps > max_ps || ps + (was & RIDING_PS) > max_ps || RIDING_COUNT(was) >= max)
			return 0;
	} while (!atomic_compare_exchange_weak(&riding, &was, was + ps + RIDING_ONE + RIDING_UNTOLD_ONE));
	atomic_fetch_add_explicit(&r->time->riders, 1, memory_order_relaxed);
	return 1;
}

uint64_t shim_riders_number(int evictable, uint64_t *rode_ns)
{
	uint64_t was = evictable ? atomic_fetch_and(&riding, RIDING_UNTOLD_ONE - 1) : atomic_exchange(&riding, 0);
	uint64_t untold = RIDING_UNTOLD(was);

	*rode_ns = (was & RIDING_PS) / 1000;
	return atomic_fetch_add(&launched, untold + 1) + untold;
}

/*
 * Whose they are is not known; most often one kernel's.  Too much is let go with the next launch
 * as it is, which has a stub then; too little would be in front of whoever waits.
 */
void shim_riders_longer(uint64_t was, uint64_t is)
{
	uint64_t word = atomic_load_explicit(&riding, memory_order_relaxed), to;

	do {
		double ps = (double)(word & RIDING_PS) * ((double)is / (double)was);

		to = (word & ~RIDING_PS) | (ps < (double)RIDING_PS ? (uint64_t)ps : RIDING_PS);
	} while (!atomic_compare_exchange_weak(&riding, &word, to));
}
