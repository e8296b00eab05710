/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Critical sections of launches, in the order in which they came; see order.h. */
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
 * Mostly only one thread ever launches: the launch thread, which is the first one that launches.
 * Its section is kept in shim_owned.section only, and is entered and left by a plain store. A
 * locked operation would cost a tenth of what a launch may cost, and more if it has to wait for the
 * program's earlier writes.
 *
 * As soon as another thread launches there is no launch thread any more, for good. The other
 * thread, with the lock, writes that to shim_launch_thread, makes every thread of the process pass
 * a memory barrier (membarrier(2)), and then reads the launch thread's section. The launch thread
 * stores its section and then checks whether it still is the launch thread. The barrier falls
 * before, between or after these two steps. So either the launch thread notices that it is no
 * longer the launch thread, and takes the lock, or the other thread finds the section and puts it
 * at the front of the list. A section that is found stays valid, since its thread cannot leave
 * without the lock. Nobody waits for more than in_the_way() says.
 *
 * A thread that has got the number of a launch thread that has ended is the launch thread in its
 * place; the old one is in no section any more.
 */
#define SHARED SHIM_THREAD_SHARED /* there is no launch thread and will be none */
#define NOBODY SHIM_THREAD_NOBODY /* none yet: the next thread that launches becomes it */

/*
 * Without a launch thread, mostly one launch at a time is in a critical section. Then the section
 * is in shim_order_sole and not in the list, and it comes and goes with one compare-and-swap each,
 * without the lock. NULL: no thread is in a section. `listed`: every section is in the list.
 *
 * Only a section's own thread changes shim_order_sole from NULL to the section and back. All other
 * changes need the lock: to `listed`, when a thread puts itself and the section that it found there
 * (which came before) into the list, and back to NULL when the list is empty. So a thread that
 * finds NULL has nobody in front of it. A thread that finds its section replaced has it in the
 * list, or will once it gets the lock. A section that was found there stays valid, since its thread
 * cannot leave without the lock.
 */
static struct shim_section listed;
_Atomic(struct shim_section *) shim_order_sole;

_Atomic uint32_t shim_streams_destroyed;

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
 * Two launches as written must not meet either while a third has blocked a stream that synchronises
 * with the default stream. What is enqueued in the default stream is behind that one's wait. What
 * is then enqueued in another such stream is behind it as well, although its "started" marker was
 * not.
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

/* The place where the section is linked in, or the end of the list. */
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

/* The kernel promised membarrier at registration; if seccomp has forbidden it since, wait longer
 * than any store takes to become visible. */
static void have_all_pass(void)
{
	static const struct timespec nap = { 0, 10 * 1000 * 1000 };

	if (barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) < 0)
		nanosleep(&nap, NULL);
}

/*
 * Call with the lock, after shim_order_sole has become `listed`: a thread that sees that there is
 * no launch thread must not overtake what the launch thread was doing. p comes after that, even if
 * it is the launch thread's own.
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

/* Puts the section behind all others; it may be in the list already, as the launch thread's. A
 * thread that was cancelled while it waits would end while it holds the lock. */
static void enter_list(struct shim_section *p)
{
	struct shim_section *before;
	int cancels;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
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
	pthread_setcancelstate(cancels, NULL);
}

/* The launch thread's last section may not be in the list: it had left before another thread looked
 * for it. */
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

/* The first thread that launches becomes the launch thread. */
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
