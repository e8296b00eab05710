/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a program, it sets the wall clock: two of three times that it is read it is an
 * hour ahead or behind. Who waits until a time of that clock waits for an hour, as when it is set
 * back meanwhile. With GPUSHARE_CLOCK_STEP it is so many seconds ahead (less than 0: behind) every
 * second time instead.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define STEP_S 3600

EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *step = getenv("GPUSHARE_CLOCK_STEP");
	static _Atomic unsigned reading;
	long rc = syscall(SYS_clock_gettime, clock, ts);

	if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ts->tv_sec += step ? (time_t)(reading++ % 2) * atoll(step) :
				     ((int)(reading++ % 3) - 1) * STEP_S;
	return (int)rc;
}

EXPORT int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;
	int rc = clock_gettime(CLOCK_REALTIME, &ts);

	(void)zone;
	*tv = (struct timeval) { ts.tv_sec, ts.tv_nsec / 1000 };
	return rc;
}

EXPORT time_t time(time_t *at)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (at)
		*at = ts.tv_sec;
	return ts.tv_sec;
}
