/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads beside those of a program or of an event loop. No signal handler ever runs on them. */
#ifndef GPUSHARE_COMMON_THREAD_H
#define GPUSHARE_COMMON_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Run fn(arg) in a thread that has every signal blocked; the caller's mask is as before.
 * stack_bytes: of its stack, at least PTHREAD_STACK_MIN; 0: the system's default.
 * thread: gets its id, and the caller must join it; NULL: it is detached, and nobody can.
 * 0, and arg is the thread's; -1 with errno, and nothing was started: arg is still the caller's.
 */
int gs_thread_start(pthread_t *thread, size_t stack_bytes, void *(*fn)(void *), void *arg);

#endif
