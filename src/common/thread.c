/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starting a thread; see thread.h. */
#define _GNU_SOURCE
#include "common/thread.h"

#include <errno.h>
#include <signal.h>

int gs_thread_start(pthread_t *thread, size_t stack_bytes, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t every, old;
	pthread_t id;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc) {
		errno = rc;
		return -1;
	}
	if (stack_bytes)
		rc = pthread_attr_setstacksize(&attr, stack_bytes);
	if (!thread)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/*
	 * A thread inherits its creator's signal mask, so the mask is set before the thread is
	 * started.
	 */
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	if (!rc)
		rc = pthread_create(thread ? thread : &id, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc)
		errno = rc;
	return rc ? -1 : 0;
}
