/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines that the shim writes, to GPUSHARE_LOG's file and to standard error. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "device/shim/base/shim.h"

/* The C library's lock on the time zone stays locked in a forked child for ever if another thread
 * held it. No thread of the shim does while the program forks, since the fork waits for this. */
static pthread_mutex_t zone = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
	pthread_mutex_lock(&zone);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&zone);
}

static void __attribute__((constructor)) watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* In gpushared's format, so that its log and the program's can be read side by side. */
static void local_time(char stamp[32], time_t now)
{
	struct tm tm;

	pthread_mutex_lock(&zone);
	localtime_r(&now, &tm);
	strftime(stamp, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	pthread_mutex_unlock(&zone);
}

/* If a line cannot be written, to a pipe without a reader or a file that may not grow, the program
 * must not die: the signal for that comes to this thread, and is caught here. */
static void write_line(FILE *out, const char *fmt, va_list ap)
{
	static const struct timespec at_once = { 0, 0 };
	sigset_t deadly, before, was;
	char text[512], stamp[32];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	local_time(stamp, now.tv_sec);
	vsnprintf(text, sizeof(text), fmt, ap);
	sigpending(&before);
	sigemptyset(&deadly);
	if (!sigismember(&before, SIGPIPE))
		sigaddset(&deadly, SIGPIPE);
	if (!sigismember(&before, SIGXFSZ))
		sigaddset(&deadly, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &deadly, &was);
	fprintf(out, "gpushare[%d] %s.%06ld: %s\n", (int)getpid(), stamp, now.tv_nsec / 1000, text);
	while (sigtimedwait(&deadly, NULL, &at_once) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

static FILE *log_file;

static void open_log(void)
{
	const char *path = getenv("GPUSHARE_LOG");

	log_file = path && *path ? fopen(path, "ae") : NULL;
	if (log_file)
		setvbuf(log_file, NULL, _IOLBF, 0);
}

void shim_log(const char *fmt, ...)
{
	static pthread_once_t opened = PTHREAD_ONCE_INIT;
	va_list ap;

	pthread_once(&opened, open_log);
	if (!log_file)
		return;
	va_start(ap, fmt);
	write_line(log_file, fmt, ap);
	va_end(ap);
}

void shim_notice(const char *fmt, ...)
{
	static _Atomic(const char *) said[8];
	va_list ap;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		const char *none = NULL;

		if (atomic_compare_exchange_strong(&said[i], &none, fmt))
			break;
		if (none == fmt)
			return;
	}
	va_start(ap, fmt);
	write_line(stderr, fmt, ap);
	va_end(ap);
}
