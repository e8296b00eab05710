/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks; see clock.h. */
#define _GNU_SOURCE
#include "common/clock.h"

#include <time.h>

static uint64_t ns_of(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * GS_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t gs_clock_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

uint64_t gs_thread_clock_ns(void)
{
	return ns_of(CLOCK_THREAD_CPUTIME_ID);
}
