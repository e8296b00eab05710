/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of our own: their signals, their stack, who joins them, and what is left when there can
 * be none. */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/thread.h"

#define STACK_BYTES (512 * 1024)

/* What a thread says of itself. */
static struct seen {
	sem_t said;
	size_t stack;
	int detached;
	sigset_t blocked;
} seen;

static void *poll(void *arg)
{
	struct seen *s = arg;
	pthread_attr_t attr;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstacksize(&attr, &s->stack);
	pthread_attr_getdetachstate(&attr, &s->detached);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, NULL, &s->blocked);
	sem_post(&s->said);
	return s;
}

/* The caller blocks SIGUSR1 and nothing else. */
static void assert_own_mask(void)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int s = 1; s <= SIGSYS; s++)
		assert_int_equal(sigismember(&now, s), s == SIGUSR1);
}

static void assert_no_signals(void)
{
	for (int s = 1; s <= SIGSYS; s++)
		if (s != SIGKILL && s != SIGSTOP)
			assert_int_equal(sigismember(&seen.blocked, s), 1);
}

static void joined(void **unused)
{
	pthread_t thread;
	void *result = NULL;

	(void)unused;
	assert_int_equal(gs_thread_start(&thread, STACK_BYTES, poll, &seen), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &seen);
	assert_int_equal(sem_trywait(&seen.said), 0);
	assert_int_equal(seen.detached, PTHREAD_CREATE_JOINABLE);
	assert_int_equal(seen.stack, STACK_BYTES);
	assert_no_signals();
	assert_own_mask();
}

static void detached(void **unused)
{
	pthread_attr_t attr;
	size_t usual;

	(void)unused;
	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	pthread_attr_getstacksize(&attr, &usual);
	pthread_attr_destroy(&attr);
	assert_int_equal(gs_thread_start(NULL, 0, poll, &seen), 0);
	assert_int_equal(sem_wait(&seen.said), 0);
	assert_int_equal(seen.detached, PTHREAD_CREATE_DETACHED);
	assert_int_equal(seen.stack, usual);
	assert_no_signals();
	assert_own_mask();
}

/* A stack of 1 byte is refused when it is asked for, one of 2^62 when it is made. */
static void none(void **unused)
{
	pthread_t thread;

	(void)unused;
	errno = 0;
	assert_int_equal(gs_thread_start(&thread, 1, poll, &seen), -1);
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_int_equal(gs_thread_start(NULL, (size_t)1 << 62, poll, &seen), -1);
	assert_int_not_equal(errno, 0);
	assert_own_mask();
	assert_int_equal(sem_trywait(&seen.said), -1);
}

static int setup(void **unused)
{
	sigset_t mine;

	(void)unused;
	sigemptyset(&mine);
	sigaddset(&mine, SIGUSR1);
	return sem_init(&seen.said, 0, 0) | pthread_sigmask(SIG_SETMASK, &mine, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joined),
		cmocka_unit_test(detached),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
