/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches in critical section, in the order in which they came; see order.h. */
#define _GNU_SOURCE
#include "device/shim/context/order.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/shim/base/wraps.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct shim_section *first, **end = &first; /* under lock */
static unsigned int waiting;                       /* under lock */

/*
 * Mostly one thread launches, ever: the owner, which is the first one that does.  Its critical
 * section is here and nowhere else, and comes and goes with a plain store, since a locked operation
 * is a tenth of what a launch may cost, and more where it has to wait for what the program has
 * written before.
 *
 * As soon as another thread launches there is no owner any more, for good.  That thread, with
 * the lock, says so, has every thread of the process pass a barrier (membarrier(2)), and looks
 * here then; the owner stores here and looks whether it still is the owner then.  The
 * barrier stands between the owner's two, wherever it is: either the owner sees that it is the
 * owner no more, and takes the lock, or the other thread sees the critical section and puts it into
 * the list, in front of everybody.  One that was found here stays valid, since its thread cannot
 * leave without the lock; and nobody waits for more than in_the_way() says.
 *
 * A thread that has got the number of an owner which has ended is the owner in its place: that
 * one is in no critical section any more.
 */
#define SHARED SHIM_THREAD_SHARED /* there is no owner, nor will be one */
#define NOBODY SHIM_THREAD_NOBODY /* yet: the next one that launches is it */

/*
 * Without an owner, mostly one launch is in critical section, alone: then it is here and not in the
 * list, and comes and goes with one compare-and-swap each, without the lock.  NULL: nobody
 * is in critical section.  `listed`: whoever is, is in the list.
 *
 * From NULL to a critical section and back only that critical section's thread moves it, and
 * anything else only who has the lock: to `listed`, when it puts itself and the
 * one that it found here, which came before, into the list; back to NULL when the list
 * is empty.  So whoever finds NULL has nobody in front of it, and whoever
 * finds itself replaced is in the list, or will be once it gets the lock.  A critical section
 * that was found here stays valid: its thread cannot leave without the lock.
 */
static struct shim_section listed;
_Atomic(struct shim_section *) shim_order_sole;

int shim_stream_is_legacy(CUstream stream)
{
	unsigned int flags = 0;

	if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return 1;
	return REAL(cuStreamGetFlags)(stream, &flags) != CUDA_SUCCESS ||
	       !(flags & CU_STREAM_NON_BLOCKING);
}

/* Do the two streams order their work? */
static int ordered(const struct shim_section *a, const struct shim_section *b)
{
	if (a->ctx != b->ctx)
		return 0;
	/* The per-thread default streams of two threads are two streams. */
	if (a->stream == b->stream)
		return a->stream != CU_STREAM_PER_THREAD;
	return (a->lane == SHIM_LANE_DEFAULT && b->lane != SHIM_LANE_OWN) ||
	       (b->lane == SHIM_LANE_DEFAULT && a->lane != SHIM_LANE_OWN);
}

/*
 * Two that hold nothing must not meet either while a third holds a blocking stream: what
 * is enqueued in the default stream is behind that hold, and what is enqueued in
 * another blocking stream afterwards is behind it, too, though its mark "started" was not.
 */
static int in_the_way(const struct shim_section *p)
{
	for (const struct shim_section *at = first; at != p; at = at->next)
		if (ordered(at, p) && (at->blocks || p->blocks || shim_is_legacy_held()))
			return 1;
	return 0;
}

static void append(struct shim_section *p)
{
	p->next = NULL;
	*end = p;
	end = &p->next;
}

/* Where it is linked in, or where the list ends. */
static struct shim_section **place_of(const struct shim_section *p)
{
	struct shim_section **at = &first;

	while (*at && *at != p)
		at = &(*at)->next;
	return at;
}

static long barrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

/* It was promised, but has been forbidden since (seccomp): no store takes that long to be seen. */
static void have_all_pass(void)
{
	static const struct timespec nap = { 0, 10 * 1000 * 1000 };

	if (barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) < 0)
		nanosleep(&nap, NULL);
}

/*
 * With the lock, and `sole` says so: who sees that there is no owner must not overtake what the
 * owner was doing. p comes after that, though it may be the owner's.
 */
static void end_ownership(const struct shim_section *p)
{
	struct shim_section *its;

	if (atomic_load_explicit(&shim_launch_thread, memory_order_relaxed) == SHARED)
		return;
	atomic_store(&shim_launch_thread, SHARED);
	have_all_pass();
	its = atomic_load(&shim_owned.section);
	if (its && its != p)
		append(its);
}

/* Behind everybody who is in critical section; it may have been put there already, as the owner's.
 */
static void enter_list(struct shim_section *p)
{
	struct shim_section *before;

	pthread_mutex_lock(&lock);
	before = atomic_exchange(&shim_order_sole, &listed);
	end_ownership(p);
	if (before && before != &listed)
		append(before);
	if (!*place_of(p))
		append(p);
	while (in_the_way(p)) {
		waiting++;
		pthread_cond_wait(&left, &lock);
		waiting--;
	}
	pthread_mutex_unlock(&lock);
}

/* The owner's last one may not be there: it had left when that was looked for. */
void shim_order_leave_late(struct shim_section *p)
{
	struct shim_section **at;

	pthread_mutex_lock(&lock);
	at = place_of(p);
	if (*at) {
		*at = p->next;
		if (end == &p->next)
			end = at;
		if (!first)
			atomic_store(&shim_order_sole, NULL);
		if (waiting)
			pthread_cond_broadcast(&left);
	}
	pthread_mutex_unlock(&lock);
}

/* The first that launches is the owner. */
static int become_launch_thread(void)
{
	uintptr_t is = NOBODY;

	return atomic_load_explicit(&shim_launch_thread, memory_order_relaxed) == is &&
	       atomic_compare_exchange_strong(&shim_launch_thread, &is, shim_self());
}

void shim_order_enter_late(struct shim_section *p)
{
	if (!become_launch_thread() || !shim_order_enter_owned(p, &shim_owned))
		enter_list(p);
}

void shim_order_begin(void)
{
	if (barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
		atomic_store(&shim_launch_thread, NOBODY);
}

void shim_order_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&left, NULL);
	first = NULL;
	end = &first;
	waiting = 0;
	atomic_store(&shim_order_sole, NULL);
	atomic_store(&shim_owned.section, NULL);
	atomic_store(&shim_launch_thread, SHARED);
}
