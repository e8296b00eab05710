/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hold rule (DESIGN.md): a driver call that blocks while it holds the
 * driver's lock would deadlock the relaunch of an evicted kernel.  Such a
 * call closes the gate, waits until no evictable kernel is out, and only
 * then enters; while the gate is closed other threads launch originals.
 *
 * Launch: held += 1, then look at the gate.  Call: gate += 1, then look at
 * held.  Both sequentially consistent, so one of the two sees the other.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/shim/pool.h"

/* [0]: every hold and call, [1]: those of the legacy default stream. */
static _Atomic uint32_t held[2];
static _Atomic uint32_t gate[2];

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

int shim_hold_begin(int legacy)
{
	atomic_fetch_add(&held[0], 1);
	if (legacy)
		atomic_fetch_add(&held[1], 1);
	if (atomic_load(&gate[0]) == 0 && (!legacy || atomic_load(&gate[1]) == 0))
		return 1;
	shim_hold_end(legacy);
	return 0;
}

void shim_hold_end(int legacy)
{
	if (legacy)
		drop(&held[1]);
	drop(&held[0]);
}

void shim_gate_enter(int only_legacy)
{
	uint32_t out;

	atomic_fetch_add(&gate[only_legacy], 1);
	while ((out = atomic_load(&held[only_legacy])) != 0) {
		/* The GPU ends a hold without telling: look, then nap. */
		shim_launch_reap(shim_session_peek());
		futex_sleep(&held[only_legacy], out);
	}
}

void shim_gate_leave(int only_legacy)
{
	atomic_fetch_sub(&gate[only_legacy], 1);
}
