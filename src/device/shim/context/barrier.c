/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The barrier rule: a driver call that blocks while it holds the
 * driver's lock would deadlock the relaunch of an evicted kernel.  Such a
 * call closes the barrier, waits until no evictable kernel is out, and only
 * then enters; while the barrier is closed other threads launch originals.
 *
 * Launch: held += 1, then look at the barrier.  Call: barrier += 1, then look at
 * held.  Both sequentially consistent, so one of the two sees the other.
 */
#define _GNU_SOURCE
#include "device/shim/context/barrier.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/shim/base/capture.h"
#include "device/shim/context/copy_barrier.h"
#include "device/shim/context/patience.h"
#include "device/shim/session/session.h"
#include "device/shim/base/upcalls.h"

/* As shim_held: [0] all calls, [1] those of the legacy default stream. */
static _Atomic uint32_t barrier[2];
static __thread uint32_t
	own_barrier; /* of barrier[0]: closed by this thread, which may begin a hold behind it */

/*
 * Blocked streams use up the context's channels, whichever they are: with n
 * connections and 65 streams in use, n - 4 may be held and all others go on
 * (doc/measurements/h200-connections.csv).  Three of them are the shim's own.
 */
#define STREAMS_MAX (SHIM_CONNECTIONS_N - 7)

/*
 * A stream takes 1,019 operations behind a hold; in the legacy default stream the
 * next one blocks its caller with the driver's lock, which the relaunch needs
 * (H200).  Several threads may be past the count at once.
 */
#define BEHIND_MAX 900
static _Atomic uint32_t
	behind; /* operations since nothing was held there; to 0 only while nothing is */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	CUstream stream;
	unsigned int kernels; /* 0: the slot is free */
} blocking[STREAMS_MAX];      /* under lock */

/*
 * One kernel more in the stream; 0 if no further stream may hold one.  The first of a
 * legacy stream sets the count back before it is seen to be held, and no other
 * begins meanwhile: what is counted from then on stays counted.
 */
static int stream_blocks(CUstream stream, int legacy)
{
	int slot = -1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < STREAMS_MAX; i++) {
		if (blocking[i].kernels && blocking[i].stream == stream) {
			slot = i;
			break;
		}
		if (!blocking[i].kernels && slot < 0)
			slot = i;
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

/* Until none is held, 1; [1]: in the legacy default stream.  Closes no barrier.  NULL: however long
 * that takes. */
static int wait_for_none(int only_legacy, struct shim_patience *p)
{
	struct shim_session *s = shim_session_peek();
	CUstreamCaptureMode mode;
	uint32_t out;

	if (!atomic_load(&shim_held[only_legacy]))
		return 1;
	shim_capture_relax(&mode);
	while ((out = atomic_load(&shim_held[only_legacy])) != 0) {
		/* The process ends with kernels out: nobody would relaunch them any more. */
		if (s && (s->stopping || (p && shim_patience_ends(p, s))))
			break;
		/* The GPU ends a hold without telling: look, then nap. */
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
	struct shim_patience p = { .in_vain = &in_vain };

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
		/* The barrier is closed: others' new holds would keep it waiting, and be in front
		 * of what it has let through. */
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
