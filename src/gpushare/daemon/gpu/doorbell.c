/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for several futexes at once; see doorbell.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/gpu/doorbell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define POLL_NS (1 * GS_NS_PER_MS)

/* The kernel's interface, for system headers that are older than it. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
struct waiter {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};
#define WORD_OF_32_BITS 2 /* FUTEX_32 */

static struct timespec at(uint64_t ns)
{
	return (struct timespec) { (time_t)(ns / GS_NS_PER_S), (long)(ns % GS_NS_PER_S) };
}

/* Returns 0; -1: this kernel cannot wait for several. */
static int wait_for_all(const struct gs_doorbell *doorbell, size_t n, uint64_t until_ns)
{
	struct waiter waiter[GS_DOORBELLS_MAX];
	struct timespec until = at(until_ns);

	for (size_t i = 0; i < n; i++)
		waiter[i] = (struct waiter) { .val = doorbell[i].heard,
					      .uaddr = (uintptr_t)doorbell[i].word,
					      .flags = WORD_OF_32_BITS };
	if (syscall(SYS_futex_waitv, waiter, n, 0, until_ns == UINT64_MAX ? NULL : &until,
		    CLOCK_MONOTONIC) < 0 &&
	    errno == ENOSYS)
		return -1;
	return 0;
}

void gs_doorbells_wait(const struct gs_doorbell *doorbell, size_t n, uint64_t until_ns)
{
	static _Atomic int old_kernel;
	uint64_t soon = gs_clock_ns() + POLL_NS;
	struct timespec until;

	if (n > GS_DOORBELLS_MAX) {
		n = GS_DOORBELLS_MAX;
		until_ns = soon < until_ns ? soon : until_ns;
	}
	if (n > 1 && !old_kernel) {
		old_kernel = wait_for_all(doorbell, n, until_ns) < 0;
		if (!old_kernel)
			return;
	}
	if (n > 1)
		until_ns = soon < until_ns ? soon : until_ns;
	until = at(until_ns);
	syscall(SYS_futex, doorbell[0].word, FUTEX_WAIT_BITSET, doorbell[0].heard,
		until_ns == UINT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void gs_doorbell_wake(const _Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
