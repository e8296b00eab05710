/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a program, it lets threads come late: now and then, around a lock
 * or a futex, one sleeps for up to 2 ms, seldom for up to 40.  What holds only as long
 * as nobody is interrupted at the wrong moment does not hold for long then; a busy
 * machine does the same, but seldom.  GPUSHARE_JITTER: one call in so many (40).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define SHORT_NS 2000000
#define LONG_NS 40000000
#define LONG_SHARE 40 /* of the pauses, one in so many is long */

long syscall(long number, ...);

static uint32_t dice(void)
{
	static __thread uint64_t x;
	struct timespec now;

	if (!x) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		x = (uint64_t)now.tv_nsec * 2654435761u + (uintptr_t)&x;
	}
	x = x * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(x >> 33);
}

static void jitter(void)
{
	static _Atomic uint32_t one_in;
	struct timespec pause = { 0, 0 };
	int was = errno;

	if (!one_in) {
		const char *text = getenv("GPUSHARE_JITTER");
		int n = text ? atoi(text) : 0;

		one_in = n > 0 ? (uint32_t)n : 40;
	}
	if (dice() % one_in)
		return;
	pause.tv_nsec = dice() % (dice() % LONG_SHARE ? SHORT_NS : LONG_NS);
	nanosleep(&pause, NULL);
	errno = was;
}

/* Functions of the C library that the dynamic linker has under several versions: that which
 * programs get. */
#define REAL(type, name, version) \
	static _Atomic(type) real; \
	if (!real) \
	real = (type)(uintptr_t)dlvsym(RTLD_NEXT, #name, version)

#define AROUND(name, version, argument) \
	EXPORT int name(argument *what) \
	{ \
		int rc; \
\
		REAL(int (*)(argument *), name, version); \
		jitter(); \
		rc = real(what); \
		jitter(); \
		return rc; \
	}
AROUND(pthread_mutex_lock, "GLIBC_2.2.5", pthread_mutex_t)
AROUND(pthread_mutex_unlock, "GLIBC_2.2.5", pthread_mutex_t)
AROUND(pthread_cond_signal, "GLIBC_2.3.2", pthread_cond_t)
AROUND(pthread_cond_broadcast, "GLIBC_2.3.2", pthread_cond_t)

EXPORT long syscall(long number, ...)
{
	/* All of them are passed on: no call has more than six arguments, and they are in
	 * registers. */
	__builtin_va_list ap;
	long a[6], rc;

	REAL(long (*)(long, ...), syscall, "GLIBC_2.2.5");
	__builtin_va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = __builtin_va_arg(ap, long);
	__builtin_va_end(ap);
	jitter();
	rc = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	jitter();
	return rc;
}
