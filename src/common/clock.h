/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time: nanoseconds of the monotonic clock, so that clock steps change nothing. */
#ifndef GPUSHARE_COMMON_CLOCK_H
#define GPUSHARE_COMMON_CLOCK_H

#include <stdint.h>

#define GS_NS_PER_US UINT64_C(1000)
#define GS_NS_PER_MS UINT64_C(1000000)
#define GS_NS_PER_S UINT64_C(1000000000)

/* Nanoseconds since an arbitrary point; equal in all processes of a node. */
uint64_t gs_clock_ns(void);

/* How long the calling thread has been on a processor. */
uint64_t gs_thread_clock_ns(void);

#endif
