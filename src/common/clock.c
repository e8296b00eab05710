/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The monotonic clock; see clock.h. */
#define _GNU_SOURCE
#include "common/clock.h"

#include <time.h>

uint64_t gs_clock_ns(void)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * GS_NS_PER_S + (uint64_t)ts.tv_nsec;
}
