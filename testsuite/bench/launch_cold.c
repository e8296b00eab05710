/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch_cold DATA_KIB CODE_KIB THREADS DRIVER SHIM...: what each shim adds on the host to a launch
 * that goes untracked in a program that has work of its own between two launches, which leaves
 * nothing of the shim in the first caches, and whose threads launch in turn, as PyTorch's forward
 * and backward pass do.  launch_cost has what it takes otherwise.
 *
 * Between two launches so much data is written and so much code gone through (2048 and 512 are as
 * PyTorch's steps).  The launches go past the shim and through each one in turn, so that whatever
 * else the machine does is in all of them; they are timed but for what the driver
 * (launch_cost_driver.c) takes.  Prints their quartiles, and by how much the middle half is above
 * that of those past the shim.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "launch_cost.h"

#define KERNELS 60
#define PHASE 200      /* launches of one thread, one after the other */
#define WARM_PHASES 80 /* until every kernel's time is known, and what is timed seldom */
#define PHASES 20
#define THREADS_MAX 8
#define SHIMS_MAX 6

typedef __typeof__(cuLaunchKernel) *launch_fn;

static launch_fn ways[1 + SHIMS_MAX]; /* the first one goes past all shims */
static unsigned int nways = 1;
static uint64_t *at; /* when the driver was entered and left */
static int *times;
static size_t data_bytes, code_bytes;
static unsigned int threads;
static unsigned char *data;
static void (*code)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static unsigned int phase; /* under lock: whose turn it is */

static uint64_t ticks[1 + SHIMS_MAX][PHASES * PHASE];
static size_t count[1 + SHIMS_MAX];

static void *get(void *from, const char *name)
{
	void *p = from ? dlsym(from, name) : NULL;

	if (!p) {
		fprintf(stderr, "launch_cold: %s\n", dlerror());
		exit(1);
	}
	return p;
}

static void open_ways(const char *driver_path, char **shim)
{
	void *driver;

	setenv("GPUSHARE_DRIVER", driver_path, 1);
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	driver = dlopen(driver_path, RTLD_NOW | RTLD_LOCAL);
	ways[0] = (launch_fn)get(driver, "cuLaunchKernel");
	at = get(driver, "launch_cost_at");
	times = get(driver, "launch_cost_times");
	while (*shim)
		ways[nways++] =
			(launch_fn)get(dlopen(*shim++, RTLD_NOW | RTLD_LOCAL), "cuLaunchKernel");
}

/* A jump (e9) in each line to the next one's, and in the last one a return (c3). */
static void write_code(void)
{
	unsigned char *to;

	if (!code_bytes)
		return;
	to = mmap(NULL, code_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (to == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i + 64 < code_bytes; i += 64) {
		to[i] = 0xe9;
		to[i + 1] = 64 - 5;
	}
	to[code_bytes - 64] = 0xc3;
	if (mprotect(to, code_bytes, PROT_READ | PROT_EXEC) != 0)
		exit(1);
	code = (void (*)(void))(uintptr_t)to;
}

static void work(void)
{
	for (size_t i = 0; i < data_bytes; i += 64)
		*(volatile unsigned char *)&data[i] += 1;
	if (code)
		code();
}

static __attribute__((noinline)) void launch(launch_fn way, unsigned int i)
{
	CUfunction f = (CUfunction)(0x400000 + i % KERNELS * 0x1a0ul);
	void *params[] = { &i };

	way(f, 128, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
}

static void launch_timed(unsigned int way, unsigned int i)
{
	launch_fn to;
	uint64_t from;

	work();
	to = *(launch_fn volatile *)&ways[way]; /* now, and not when the time runs */
	from = launch_cost_ticks();
	launch(to, i);
	ticks[way][count[way]++] = launch_cost_ticks() - from - (at[1] - at[0]);
}

static void launch_phase(unsigned int n)
{
	static const struct timespec nap = { 0, 1000 };

	for (unsigned int i = 0; i < PHASE; i++) {
		if (n >= WARM_PHASES) {
			launch_timed(i % nways, n * PHASE + i / nways);
		} else {
			for (unsigned int way = 1; way < nways; way++)
				launch(ways[way], n * PHASE + i);
			if (n < WARM_PHASES / 4)
				nanosleep(&nap, NULL); /* the agent learns their time */
		}
	}
}

static void *launch_in_turn(void *number)
{
	for (unsigned int n = (unsigned int)(uintptr_t)number; n < WARM_PHASES + PHASES;
	     n += threads) {
		pthread_mutex_lock(&lock);
		while (phase != n)
			pthread_cond_wait(&next, &lock);
		pthread_mutex_unlock(&lock);
		if (n >= WARM_PHASES)
			*times = 1;
		launch_phase(n);
		pthread_mutex_lock(&lock);
		phase++;
		pthread_cond_broadcast(&next);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double ns_per_tick(void)
{
	static const struct timespec nap = { 0, 20 * 1000 * 1000 };
	struct timespec from, to;
	uint64_t n;

	clock_gettime(CLOCK_MONOTONIC, &from);
	n = launch_cost_ticks();
	nanosleep(&nap, NULL);
	n = launch_cost_ticks() - n;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	       (double)n;
}

/* Of the middle half: a tick may be coarser than what is to be told apart. */
static double report(const char *name, unsigned int way, double per_tick)
{
	uint64_t *of = ticks[way];
	size_t n = count[way];
	double sum = 0;

	qsort(of, n, sizeof(*of), by_size);
	for (size_t i = n / 4; i < n - n / 4; i++)
		sum += (double)of[i];
	sum *= per_tick / (double)(n - 2 * (n / 4));
	printf("  %.0f %.0f %.0f ns %s", (double)of[n / 4] * per_tick, (double)of[n / 2] * per_tick,
	       (double)of[n - n / 4 - 1] * per_tick, name);
	return sum;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	double per_tick = ns_per_tick(), without;

	if (argc > 5) {
		data_bytes = strtoul(argv[1], NULL, 10) * 1024;
		code_bytes = strtoul(argv[2], NULL, 10) * 1024;
		threads = (unsigned int)strtoul(argv[3], NULL, 10);
	}
	if (argc <= 5 || argc > 5 + SHIMS_MAX || threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: launch_cold DATA_KIB CODE_KIB THREADS DRIVER SHIM...\n");
		return 2;
	}
	open_ways(argv[4], argv + 5);
	write_code();
	data = calloc(1, data_bytes + 1);
	if (!data)
		return 1;
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, launch_in_turn, (void *)(uintptr_t)i) != 0)
			return 1;
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%zu KiB of data, %zu of code, %u threads\n", data_bytes / 1024, code_bytes / 1024,
	       threads);
	without = report("past the shim\n", 0, per_tick);
	for (unsigned int way = 1; way < nways; way++)
		printf(": %.1f ns more\n", report(argv[4 + way], way, per_tick) - without);
	return 0;
}
