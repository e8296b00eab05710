/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What it takes to wake a thread that goes before others (prompt.h), from the call that wakes it to its
 * first look at the clock: on a processor that sleeps, on one that computes, and on
 * the waker's own (attendant.h); and where it may run anywhere and the waker moves each time.
 *
 * usage: wake_bench [WAKER-CPU [OTHER-CPU]]     (0 and 1)
 * Rows: where,how,thread,gap_us,asker,p50_us,p90_us,p99_us.  The asker spins or sleeps between two calls.  Status 77: no second processor.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/daemon/prompt.h"

#define TIMES 150
#define PATIENCE_NS (50 * GS_NS_PER_MS)
#define ANYWHERE (-1)

static int own, other;

struct sleeper {
	int cpu, by_socket, sock[2];
	_Atomic uint32_t word;
	_Atomic uint64_t woke_ns;
	_Atomic int stop, prompt;
};

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static void *sleep_and_tell(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct sleeper *s = arg;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	char byte;

	s->prompt = gs_be_prompt(1);
	if (s->cpu != ANYWHERE)
		pin(s->cpu);
	epoll_ctl(epoll, EPOLL_CTL_ADD, s->sock[1], &event);
	while (!s->stop) {
		uint32_t word = s->word;

		if (!s->by_socket) {
			syscall(SYS_futex, &s->word, FUTEX_WAIT, word, NULL, NULL, 0);
		} else if (epoll_wait(epoll, &event, 1, -1) < 1 || recv(s->sock[1], &byte, 1, 0) < 1) {
			break;
		}
		s->woke_ns = gs_clock_ns();
	}
	close(epoll);
	return NULL;
}

static void *compute(void *arg)
{
	struct sleeper *s = arg;

	pin(s->cpu);
	while (!s->stop)
		__builtin_ia32_pause();
	return NULL;
}

static void wake(struct sleeper *s)
{
	s->word++;
	if (s->by_socket)
		send(s->sock[0], "", 1, MSG_NOSIGNAL);
	else
		syscall(SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(const char *where, int cpu, int busy, int by_socket, unsigned gap_us, int spins)
{
	struct sleeper s = { .cpu = cpu, .by_socket = by_socket };
	pthread_t thread, computing;
	double us[TIMES];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s.sock) < 0 ||
	    pthread_create(&thread, NULL, sleep_and_tell, &s) ||
	    (busy && pthread_create(&computing, NULL, compute, &s)))
		exit(1);
	for (int i = 0; i < TIMES; i++) {
		uint64_t from = gs_clock_ns();

		if (cpu == ANYWHERE)
			pin(i % 2 ? other : own);
		if (!spins)
			usleep(gap_us);
		while (gs_clock_ns() - from < gap_us * GS_NS_PER_US)
			__builtin_ia32_pause();
		s.woke_ns = 0;
		from = gs_clock_ns();
		wake(&s);
		while (!s.woke_ns && gs_clock_ns() - from < PATIENCE_NS)
			__builtin_ia32_pause();
		us[i] = s.woke_ns > from ? (double)(s.woke_ns - from) / 1e3 : PATIENCE_NS / 1e3; /* at least */
	}
	pin(own);
	s.stop = 1;
	wake(&s);
	pthread_join(thread, NULL);
	if (busy)
		pthread_join(computing, NULL);
	close(s.sock[0]);
	close(s.sock[1]);
	qsort(us, TIMES, sizeof(*us), by_value);
	printf("%s,%s,%s,%u,%s,%.1f,%.1f,%.1f\n", where, by_socket ? "socket" : "futex",
	       s.prompt == GS_PROMPT_REAL_TIME ? "real-time" : s.prompt ? "nice" : "ordinary", gap_us,
	       spins ? "spins" : "sleeps", us[TIMES / 2], us[TIMES * 9 / 10], us[TIMES * 99 / 100]);
}

int main(int argc, char **argv)
{
	static const unsigned gaps_us[] = { 1300, 5000 };

	own = argc > 1 ? atoi(argv[1]) : 0;
	other = argc > 2 ? atoi(argv[2]) : 1;
	if (pin(other) < 0 || pin(own) < 0) {
		fprintf(stderr, "wake_bench: no processors %d and %d\n", own, other);
		return 77;
	}
	puts("where,how,thread,gap_us,asker,p50_us,p90_us,p99_us");
	for (int spins = 0; spins < 2; spins++)
		for (size_t g = 0; g < 2; g++)
			for (int by_socket = 0; by_socket < 2; by_socket++) {
				measure("a processor that sleeps", other, 0, by_socket, gaps_us[g], spins);
				measure("one that computes", other, 1, by_socket, gaps_us[g], spins);
				measure("the waker's own", own, 0, by_socket, gaps_us[g], spins);
				measure("anywhere", ANYWHERE, 0, by_socket, gaps_us[g], spins);
			}
	return 0;
}
