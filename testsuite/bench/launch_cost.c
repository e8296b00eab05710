/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch_cost SHIM DRIVER: what the shim adds on the host to a launch that is left as it is, of a
 * process with the turn.  No GPU: the driver (launch_cost_driver.c) returns at once, so what is
 * left is the shim's own part.  Nothing here asserts a time; the instructions are exact, the ns are
 * this machine's.
 *
 * Instructions and locked operations are counted by single steps (ptrace) in a
 * process of its own; ns as the difference of batches in turn, through the shim and past it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch_cost.h"

#define BATCH 16
#define BATCHES 10000
#define WARM \
	20000 /* launches: as many as make every kernel's time known, and what is timed seldom */
#define COUNTED 400 /* launches that are stepped through: three of a kernel's are timed */
#define STREAMS 4
#define KERNELS 24
#define SITES 4096

typedef __typeof__(cuLaunchKernel) *launch_fn;
typedef __typeof__(cuLaunchKernelEx) *launch_ex_fn;

struct way {
	launch_fn launch;
	launch_ex_fn launch_ex;
};

static struct way shim, past;
static unsigned int *marks;
static int *sweeps;  /* the driver leaves the first caches to nobody else... */
static uint64_t *at; /* ...and says when it was entered and left */

enum kind { UNTRACKED, MARKED, KINDS };

static const struct variant {
	const char *name;
	unsigned int streams, kernels;
	enum { KERNEL, EX, EX_ATTRIBUTE } call;
	int marked;  /* none rides */
	int threads; /* another thread has launched */
} variants[] = {
	{ "untracked", 1, 1, KERNEL, 0, 0 },
	{ "untracked, 4 streams, 24 kernels", STREAMS, KERNELS, KERNEL, 0, 0 },
	{ "untracked, default stream", 0, 1, KERNEL, 0, 0 },
	{ "untracked, cuLaunchKernelEx", 1, 1, EX, 0, 0 },
	{ "untracked, Ex with an attribute", 1, 1, EX_ATTRIBUTE, 0, 0 },
	{ "untracked, a second thread launched", 1, 1, KERNEL, 0, 1 },
	{ "marked", 1, 1, KERNEL, 1, 0 },
	{ "marked, a second thread launched", 1, 1, KERNEL, 1, 1 },
};

static __attribute__((noinline)) void launch(const struct way *w, const struct variant *v,
					     unsigned int i)
{
	static CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_PRIORITY };
	CUstream stream = v->streams ? (CUstream)(0x1000 + i % v->streams * 0x100ul) : NULL;
	CUfunction f =
		v->marked ? LAUNCH_COST_LONG : (CUfunction)(0x400000 + i % v->kernels * 0x1a0ul);
	void *params[] = { &i };

	if (v->call == KERNEL) {
		w->launch(f, 128, 1, 1, 256, 1, 1, 0, stream, params, NULL);
	} else {
		CUlaunchConfig config = {
			.gridDimX = 128,
			.gridDimY = 1,
			.gridDimZ = 1,
			.blockDimX = 256,
			.blockDimY = 1,
			.blockDimZ = 1,
			.hStream = stream,
			.attrs = &attribute,
			.numAttrs = v->call == EX_ATTRIBUTE,
		};

		w->launch_ex(&config, f, params, NULL);
	}
}

/* Whoever steps through this process counts from one call of it to the next. */
static __attribute__((noinline)) void mark(enum kind kind)
{
	__asm__ volatile("" : : "r"(kind) : "memory");
}

static void *get(void *from, const char *name)
{
	void *p = dlsym(from, name);

	if (!p) {
		fprintf(stderr, "launch_cost: %s\n", dlerror());
		exit(1);
	}
	return p;
}

static void open_ways(const char *shim_path, const char *driver_path)
{
	void *driver, *lib;

	setenv("GPUSHARE_DRIVER", driver_path, 1);
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	driver = dlopen(driver_path, RTLD_NOW | RTLD_LOCAL);
	lib = driver ? dlopen(shim_path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib) {
		fprintf(stderr, "launch_cost: %s\n", dlerror());
		exit(1);
	}
	past = (struct way) { get(driver, "cuLaunchKernel"), get(driver, "cuLaunchKernelEx") };
	shim = (struct way) { get(lib, "cuLaunchKernel"), get(lib, "cuLaunchKernelEx") };
	marks = get(driver, "launch_cost_marks");
	sweeps = get(driver, "launch_cost_sweeps");
	at = get(driver, "launch_cost_at");
}

static void *launch_once(void *v)
{
	launch(&shim, v, 0);
	return NULL;
}

/* Until what is to ride does, and the agent has given us the turn. */
static void warm(const struct variant *v)
{
	static const struct timespec nap = { 0, 1000 };
	pthread_t thread;

	launch(&shim, v, 0);
	if (v->threads && pthread_create(&thread, NULL, launch_once, (void *)(uintptr_t)v) == 0)
		pthread_join(thread, NULL);
	for (unsigned int i = 0; i < WARM; i++) {
		launch(&shim, v, i);
		if (i < 2000)
			nanosleep(&nap, NULL); /* the agent learns their time */
	}
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double median(uint64_t *of, size_t n)
{
	if (!n)
		return 0;
	qsort(of, n, sizeof(*of), by_size);
	return (double)of[n / 2];
}

/* Of the middle half: a tick may be coarser than what is to be told apart. */
static double middle(uint64_t *of, size_t n)
{
	double sum = 0;

	median(of, n);
	for (size_t i = n / 4; i < n - n / 4; i++)
		sum += (double)of[i];
	return sum / (double)(n - 2 * (n / 4));
}

static double time_ns(const struct variant *v)
{
	static uint64_t ns[2][BATCHES];
	const struct way *way[] = { &past, &shim };

	for (size_t b = 0; b < BATCHES; b++) {
		for (int w = 0; w < 2; w++) {
			uint64_t from = now();

			for (unsigned int i = 0; i < BATCH; i++)
				launch(way[w], v, (unsigned int)b * BATCH + i);
			ns[w][b] = now() - from;
		}
	}
	return (median(ns[1], BATCHES) - median(ns[0], BATCHES)) / BATCH;
}

static double ns_per_tick(void)
{
	static const struct timespec nap = { 0, 20 * 1000 * 1000 };
	uint64_t ns = now(), ticks = launch_cost_ticks();

	nanosleep(&nap, NULL);
	ticks = launch_cost_ticks() - ticks;
	return (double)(now() - ns) / (double)ticks;
}

/* Of single launches, all but what the driver takes, which is much and not always the same. */
static double time_cold(const struct variant *v)
{
	static uint64_t ticks[2][BATCHES];
	const struct way *way[] = { &past, &shim };

	*sweeps = 1;
	for (unsigned int i = 0; i < BATCHES; i++) {
		for (int w = 0; w < 2; w++) {
			uint64_t from = launch_cost_ticks();

			launch(way[w], v, i);
			ticks[w][i] = launch_cost_ticks() - from - (at[1] - at[0]);
		}
	}
	*sweeps = 0;
	return (middle(ticks[1], BATCHES) - middle(ticks[0], BATCHES)) * ns_per_tick();
}

/* The traced process: all launches past the shim first, then those through it. */
static void be_counted(const struct variant *v)
{
	warm(v);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(1);
	raise(SIGSTOP);
	for (int w = 0; w < 2; w++) {
		const struct way *way = w ? &shim : &past;

		mark(KINDS);
		for (unsigned int i = 0; i < COUNTED; i++) {
			unsigned int before = *marks;

			launch(way, v, i);
			mark(*marks != before ? MARKED : UNTRACKED);
		}
	}
	_exit(0);
}

/* Is the instruction at `rip` a locked one?  A prefix 0xf0, or an xchg with memory. */
static int is_locked(pid_t pid, uint64_t rip)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64,
					    0x65, 0x66, 0x67, 0xf2, 0xf3 };
	static struct {
		uint64_t rip;
		int locked;
	} site[SITES];
	size_t slot = rip % SITES;
	uint8_t text[2 * sizeof(long)];
	long word[2];
	size_t i = 0;

	if (site[slot].rip == rip)
		return site[slot].locked;
	word[0] = ptrace(PTRACE_PEEKTEXT, pid, rip, NULL);
	word[1] = ptrace(PTRACE_PEEKTEXT, pid, rip + sizeof(long), NULL);
	memcpy(text, word, sizeof(text));
	while (i < 4 && memchr(prefixes, text[i], sizeof(prefixes)))
		i++;
	site[slot].rip = rip;
	site[slot].locked = text[i] == 0xf0;
	if ((text[i] & 0xf0) == 0x40)
		i++;
	if ((text[i] == 0x86 || text[i] == 0x87) && text[i + 1] < 0xc0)
		site[slot].locked = 1;
	return site[slot].locked;
}

struct counts {
	uint64_t instructions[2 * COUNTED], locked[2 * COUNTED];
	size_t n;
};

/* [way]: one launch each.  0, or -1: this machine lets nobody step. */
static int step_through(pid_t pid, struct counts of[2][KINDS])
{
	uint64_t instructions = 0, locked = 0;
	int status, way = -1;
	struct user_regs_struct r;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	while (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status)) {
		ptrace(PTRACE_GETREGS, pid, NULL, &r);
		instructions++;
		if (r.rip != (uint64_t)(uintptr_t)mark) {
			locked += (uint64_t)is_locked(pid, r.rip);
			continue;
		}
		if (r.rdi == KINDS) {
			way++;
		} else {
			struct counts *c = &of[way][r.rdi];

			c->instructions[c->n] = instructions;
			c->locked[c->n++] = locked;
		}
		instructions = locked = 0;
	}
	return way == 1 ? 0 : -1;
}

static void count(const struct variant *v)
{
	static struct counts of[2][KINDS];
	static const char *const names[KINDS] = { "untrackeds", "marked" };
	double base;
	pid_t pid = fork();

	memset(of, 0, sizeof(of));
	if (pid == 0)
		be_counted(v);
	if (pid < 0 || step_through(pid, of) < 0) {
		printf(" (no single steps here)");
		return;
	}
	base = median(of[0][UNTRACKED].instructions, of[0][UNTRACKED].n);
	for (int kind = 0; kind < KINDS; kind++) {
		struct counts *c = &of[1][kind];

		if (c->n)
			printf("  %s: %.0f instructions, %.0f locked", names[kind],
			       median(c->instructions, c->n) - base, median(c->locked, c->n));
	}
}

/* Each in a process of its own: what one has done to the shim is not the next one's. */
static void measure(const struct variant *v)
{
	pid_t pid;

	printf("%-34s", v->name);
	count(v);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		warm(v);
		printf("  %.1f ns", time_ns(v));
		printf(", caches cold %.1f ns\n", time_cold(v));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: launch_cost SHIM DRIVER\n");
		return 2;
	}
	open_ways(argv[1], argv[2]);
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		measure(&variants[i]);
	return 0;
}
