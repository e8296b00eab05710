/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches without marks; see untracked.h. */
#define _GNU_SOURCE
#include "device/shim/launch/untracked.h"

#include "device/shim/session/session.h"

/* Launches that the slots have told of: their numbers. */
static _Atomic uint64_t launched;

_Atomic uint64_t shim_untracked_since, shim_untracked_others;
static _Atomic uint64_t told; /* of the owner's sum: up to where slots' numbers count them */

/* In `others`: those that no slot's number counts yet are above those since one was left as it is.
 */
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

/* Of a thread that is no owner, or while others have untracked launches. */
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

/* The owner's from `upto` until now, which `upto` is then; each once, whoever else takes them. */
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

	/* What goes untracked meanwhile is the next one's to tell of. */
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

/* Never too many: whoever takes the untold meanwhile has added them to what was read before. */
static uint64_t launched_by_now(void)
{
	uint64_t numbered = atomic_load(&launched), others = atomic_load(&shim_untracked_others),
		 was = atomic_load(&told);

	return numbered + UNTOLD(others) + ((shim_own_sum() - was) >> SHIM_UNTRACKED_SUM_BITS);
}

int shim_untracked_tell(struct shim_session *s, int anyway)
{
	static uint64_t then; /* the agent's */
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
 * Whose they are is not known; most often one kernel's.  Too much is let go with the next launch
 * as it is, which has a slot then; too little would be in front of whoever waits.  Of the owner's,
 * too, what is to be added is added to the others': should they be told of meanwhile, it is of the
 * next ones, too much.
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
