/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rule of the shim: no lock of ours is held when the driver is entered.  The
 * linker puts these in front of the mutex functions (-Wl,--wrap) and of
 * shim_real(), by which every call of ours finds the driver's function: who
 * has a mutex then ends the test.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim_rig.h"

void (*_Atomic lock_watch_unlocked)(void);

int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_trylock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
void *__real_shim_real(enum shim_fn fn);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
void *__wrap_shim_real(enum shim_fn fn);

static __thread int held;

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	int rc = __real_pthread_mutex_lock(m);

	held += rc == 0;
	return rc;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	void (*then)(void) = lock_watch_unlocked;
	int rc;

	held--;
	rc = __real_pthread_mutex_unlock(m);
	if (then)
		then();
	return rc;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *m)
{
	int rc = __real_pthread_mutex_trylock(m);

	held += rc == 0;
	return rc;
}

void *__wrap_shim_real(enum shim_fn fn)
{
	if (held) {
		fprintf(stderr, "%s is called with %d mutexes held\n", shim_name(fn), held);
		abort();
	}
	return __real_shim_real(fn);
}
