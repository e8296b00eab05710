/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver call that blocks while it holds the driver's lock would deadlock the relaunch of an
 * evicted kernel. Such a call closes the barrier, waits until no evictable kernel is out, and only
 * then enters the driver. While the barrier is closed, other threads launch kernels as written.
 *
 * A launch adds one to shim_held and then reads the barrier; a call adds one to the barrier and
 * then reads shim_held. Both are sequentially consistent, so at least one of the two notices the
 * other.
 */
#define _GNU_SOURCE
#include "device/shim/context/barrier.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/driver/connections.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/copy_barrier.h"
#include "device/shim/context/patience.h"
#include "device/shim/session/session.h"
#include "device/shim/base/upcalls.h"

/* Indexed as shim_held: [0] for all calls, [1] for those of the legacy default stream. */
static _Atomic uint32_t barrier[2];
/* How often this thread has closed barrier[0]; it may launch a preemptible kernel behind it. */
static __thread uint32_t own_barrier;

/*
 * Blocked streams use up the context's channels, whichever streams they are. With n connections and
 * 65 streams in use, n - 4 may be blocked while all others continue, as long as not all of those
 * get work at once (doc/measurements/h200-connections.csv, channels.h). Three of the n - 4 are the
 * shim's own.
 */
#define NOT_BLOCKED 7
#define STREAMS_MAX (CU_CONNECTIONS_MAX - NOT_BLOCKED)

/*
 * A stream accepts 1,019 operations behind a wait. In the legacy default stream the next operation
 * blocks its caller with the driver's lock held, which the relaunch needs (H200). The bound is
 * lower since several threads may pass the count at once.
 */
#define BEHIND_MAX 900
/* How long a call waits at first for the preemptible kernels that are out (patience.h). */
#define PATIENCE_NS (2 * GS_NS_PER_S)
/*
 * Operations enqueued since no preemptible kernel was in that stream; set to 0 only while none is.
 */
static _Atomic uint32_t behind;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	CUstream stream;
	unsigned int kernels; /* 0: this entry is free */
} blocking[STREAMS_MAX];      /* under lock; the first streams_max() of them are used */

/* How many streams may be blocked; with 7 connections and fewer none, so that nothing is held. */
static uint32_t streams_max(void)
{
	uint32_t n = shim_connections();

	return n > NOT_BLOCKED ? n - NOT_BLOCKED : 0;
}

/*
 * Counts one more kernel in the stream; returns 0 if no further stream may be blocked. The first
 * kernel of a legacy stream resets `behind` before it counts as held, and no other begins
 * meanwhile, so operations that are counted from then on stay counted.
 */
static int stream_blocks(CUstream stream, int legacy)
{
	uint32_t max = streams_max();
	int slot = -1;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < max; i++) {
		if (blocking[i].kernels && blocking[i].stream == stream) {
			slot = (int)i;
			break;
		}
		if (!blocking[i].kernels && slot < 0)
			slot = (int)i;
	}
	if (slot >= 0) {
		blocking[slot].stream = stream;
		blocking[slot].kernels++;
		if (legacy) {
			if (atomic_load(&shim_held[1]) == 0)
				atomic_store(&behind, 0);
			atomic_fetch_add(&shim_held[1], 1);
		}
	}
	pthread_mutex_unlock(&lock);
	return slot >= 0;
}

static void stream_released(CUstream stream)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < STREAMS_MAX; i++) {
		if (blocking[i].kernels && blocking[i].stream == stream) {
			blocking[i].kernels--;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

static void futex_sleep(_Atomic uint32_t *word, uint32_t seen)
{
	struct timespec ts = { 0, 100 * 1000 };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &ts, NULL, 0);
}

static void drop(_Atomic uint32_t *word)
{
	if (atomic_fetch_sub(word, 1) == 1)
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int shim_blocked_begin(CUstream stream, int legacy)
{
	if (!stream_blocks(stream, legacy))
		return 0;
	atomic_fetch_add(&shim_held[0], 1);
	if (atomic_load(&barrier[0]) == own_barrier && (!legacy || atomic_load(&barrier[1]) == 0))
		return 1;
	shim_blocked_end(stream, legacy);
	return -1;
}

void shim_blocked_end(CUstream stream, int legacy)
{
	stream_released(stream);
	if (legacy)
		drop(&shim_held[1]);
	drop(&shim_held[0]);
}

/* Waits until no preemptible kernel is out, in the legacy default stream if only_legacy. Returns 1
 * then. Closes no barrier. p NULL: waits however long it takes; else may give up and return 0. */
static int wait_for_none(int only_legacy, struct shim_patience *p)
{
	struct shim_session *s = shim_session_peek();
	CUstreamCaptureMode mode;
	uint32_t out;

	if (!atomic_load(&shim_held[only_legacy]))
		return 1;
	shim_capture_relax(&mode);
	while ((out = atomic_load(&shim_held[only_legacy])) != 0) {
		/* The process is ending, so no agent would relaunch a kernel that is out. */
		if (s && (s->stopping || (p && shim_patience_ends(p, s))))
			break;
		/* The GPU does not notify when a kernel ends: reclaim what has ended, then sleep a
		 * little. */
		shim_upcalls->reap(s);
		futex_sleep(&shim_held[only_legacy], out);
	}
	shim_capture_restore(mode);
	if (p && !out)
		shim_patience_rewarded(p);
	return !out;
}

void shim_barrier_enter(int only_legacy)
{
	shim_copy_barrier_force(only_legacy);
	shim_barrier_enter_with_copies(only_legacy);
}

void shim_barrier_enter_with_copies(int only_legacy)
{
	atomic_fetch_add(&barrier[only_legacy], 1);
	own_barrier += !only_legacy;
	wait_for_none(only_legacy, NULL);
}

int shim_barrier_enter_patiently(void)
{
	static _Atomic unsigned int in_vain;
	struct shim_patience p = { .in_vain = &in_vain, .most_ns = PATIENCE_NS };

	shim_copy_barrier_force(0);
	atomic_fetch_add(&barrier[0], 1);
	own_barrier++;
	return wait_for_none(0, &p);
}

void shim_blocked_behind(unsigned int operations)
{
	if (atomic_load_explicit(&shim_held[1], memory_order_relaxed) == 0)
		return;
	if (atomic_fetch_add(&behind, operations) + operations > BEHIND_MAX) {
		/* Close the barrier: other threads' new preemptible kernels would prolong the wait,
		 * and would be in front of the operations that it has let through. */
		shim_barrier_enter(1);
		atomic_store(&behind, operations);
		shim_barrier_leave(1);
	}
}

void shim_barrier_leave(int only_legacy)
{
	shim_copy_barrier_unforce();
	own_barrier -= !only_legacy;
	atomic_fetch_sub(&barrier[only_legacy], 1);
}

void shim_blocked_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < STREAMS_MAX; i++)
		blocking[i].kernels = 0;
	own_barrier = 0;
	behind = 0;
	for (int i = 0; i < 2; i++) {
		atomic_store(&shim_held[i], 0);
		atomic_store(&barrier[i], 0);
	}
}
