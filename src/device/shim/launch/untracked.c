/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches without markers; see untracked.h. */
#define _GNU_SOURCE
#include "device/shim/launch/untracked.h"

#include "device/shim/session/session.h"

/* How many launches the slots' numbers have counted. */
static _Atomic uint64_t launched;

_Atomic uint64_t shim_untracked_since, shim_untracked_others;
static _Atomic uint64_t told; /* how far slots' numbers have counted the launch thread's sum */

/* In shim_untracked_others the number of launches that no slot's number counts yet is above the
 * number of launches since one with a slot went out as written. */
#define UNTOLD_ONE (UINT64_C(1) << 52)
#define COUNT(word) ((word) / SHIM_UNTRACKED_SUM_ONE % (UNTOLD_ONE / SHIM_UNTRACKED_SUM_ONE))
#define UNTOLD(word) ((word) / UNTOLD_ONE)
_Static_assert(SHIM_ONLY_NS * 1000 <= SHIM_UNTRACKED_SUM_PS &&
		       SHIM_UNTRACKED_PS <= SHIM_ALONE_NS * 1000,
	       "they fit");
_Static_assert(SHIM_ONLY_NS <= GS_SLOT_UNTRACKED_NS_MAX, "the daemon believes it");
_Static_assert(SHIM_UNTRACKED_ALONE_MAX < UNTOLD_ONE / SHIM_UNTRACKED_SUM_ONE &&
		       SHIM_UNTRACKED_MAX <= SHIM_UNTRACKED_ALONE_MAX,
	       "they fit");

/* For other threads than the launch thread, and for all while others have untracked launches. */
static int others_may_go_untracked(const struct gs_page *page, struct shim_time *t, uint64_t tasks)
{
	int shared = gs_page_load(page->shared) != 0;
	uint64_t ps = shim_untracked_ps(page, t, tasks, shared),
		 most_ps = shared ? shim_untracked_shared_ps(page) : shim_alone_ns(page) * 1000;
	uint64_t untracked = shim_own_untracked(),
		 was = atomic_load_explicit(&shim_untracked_others, memory_order_relaxed);

	do {
		if (!ps || ps > most_ps ||
		    ps + (was & SHIM_UNTRACKED_SUM_PS) + (untracked & SHIM_UNTRACKED_SUM_PS) >
			    most_ps ||
		    COUNT(was) + (untracked >> SHIM_UNTRACKED_SUM_BITS) >=
			    (shared ? SHIM_UNTRACKED_MAX : SHIM_UNTRACKED_ALONE_MAX))
			return 0;
	} while (!atomic_compare_exchange_weak(&shim_untracked_others, &was,
					       was + ps + SHIM_UNTRACKED_SUM_ONE + UNTOLD_ONE));
	atomic_fetch_add_explicit(&t->others, 1, memory_order_relaxed);
	return 1;
}

int shim_may_go_untracked(const struct gs_page *page, struct shim_time *t, uint64_t tasks)
{
	struct shim_owned *own = shim_owned_here();

	return own && !atomic_load_explicit(&shim_untracked_others, memory_order_relaxed) ?
		       shim_thread_may_go_untracked(page, t, tasks, own) :
		       others_may_go_untracked(page, t, tasks);
}

/* Takes the launch thread's launches since *upto and advances *upto. Each launch is taken once,
 * even if several threads call this. */
static uint64_t taken(_Atomic uint64_t *upto)
{
	uint64_t was = atomic_load(upto), now;

	do
		now = shim_own_sum();
	while (now != was && !atomic_compare_exchange_weak(upto, &was, now));
	return now - was;
}

uint64_t shim_untracked_number(int evictable, uint64_t *untracked_ns)
{
	uint64_t was = atomic_load_explicit(&shim_untracked_others, memory_order_relaxed), untold,
		 ps;

	/* The next launch reports what goes untracked meanwhile. */
	if (was)
		was = evictable ? atomic_fetch_and(&shim_untracked_others, UNTOLD_ONE - 1) :
				  atomic_exchange(&shim_untracked_others, 0);
	untold = UNTOLD(was) + (taken(&told) >> SHIM_UNTRACKED_SUM_BITS);
	ps = was & SHIM_UNTRACKED_SUM_PS;
	if (!evictable)
		ps += taken(&shim_untracked_since) & SHIM_UNTRACKED_SUM_PS;
	*untracked_ns = ps / 1000;
	return atomic_fetch_add(&launched, untold + 1) + untold;
}

struct telling {
	struct gs_client *client;
	uint64_t launched;
	struct gs_untracked untracked[GS_UNTRACKED_MAX];
	struct shim_kernel *of[GS_UNTRACKED_MAX];
	uint32_t count;
	int failed;
};

static void send_told(struct telling *t)
{
	if (gs_client_untracked(t->client, t->launched, t->untracked, t->count) == 0) {
		t->count = 0;
		return;
	}
	t->failed = 1;
	while (t->count) {
		t->count--;
		atomic_fetch_sub(&t->of[t->count]->untracked_told, t->untracked[t->count].launches);
	}
}

static void tell_of(struct shim_kernel *k, void *user)
{
	struct telling *t = user;
	uint32_t launches = t->failed ? 0 : shim_kernel_take_untracked(k);

	if (!launches)
		return;
	t->of[t->count] = k;
	t->untracked[t->count++] =
		(struct gs_untracked) { .kernel = k->code->number, .launches = launches };
	if (t->count == GS_UNTRACKED_MAX)
		send_told(t);
}

/* Never too many: a thread that takes uncounted launches meanwhile has added them to the number
 * that was read before. */
static uint64_t launched_by_now(void)
{
	uint64_t numbered = atomic_load(&launched), others = atomic_load(&shim_untracked_others),
		 was = atomic_load(&told);

	return numbered + UNTOLD(others) + ((shim_own_sum() - was) >> SHIM_UNTRACKED_SUM_BITS);
}

int shim_untracked_tell(struct shim_session *s, int anyway)
{
	static uint64_t then; /* only the agent uses it */
	struct telling t = { .client = s->client, .launched = launched_by_now() };

	if (t.launched == then && !anyway)
		return 0;
	if (!s->connected)
		return -1;
	shim_kernels_each(tell_of, &t);
	if (!t.failed && (t.count || anyway))
		send_told(&t);
	if (t.failed)
		return -1;
	then = t.launched;
	return 0;
}

/*
 * Which kernels the launches belong to is not known; most often it is one kernel. Counting too much
 * only makes the next launch as written take a slot earlier; counting too little would leave it in
 * front of a waiting client. The correction for the launch thread's launches is added to the
 * others' word: if they are reported meanwhile, it counts for the next ones, which is again too
 * much.
 */
void shim_untracked_longer(uint64_t was, uint64_t is)
{
	uint64_t word = atomic_load_explicit(&shim_untracked_others, memory_order_relaxed),
		 untracked, to;

	do {
		double ps;

		untracked = shim_own_untracked() & SHIM_UNTRACKED_SUM_PS;
		ps = (double)((word & SHIM_UNTRACKED_SUM_PS) + untracked) *
			     ((double)is / (double)was) -
		     (double)untracked;
		to = (word & ~SHIM_UNTRACKED_SUM_PS) |
		     (ps < 0                             ? 0 :
		      ps < (double)SHIM_UNTRACKED_SUM_PS ? (uint64_t)ps :
							   SHIM_UNTRACKED_SUM_PS);
	} while (!atomic_compare_exchange_weak(&shim_untracked_others, &word, to));
}
