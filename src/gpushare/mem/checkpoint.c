/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-mem checkpoint, restore, state: a process's device memory to the
 * host and back, by the driver's cuCheckpointProcess* functions (CUDA 12.8 and
 * later).  A program of its own, so that the daemon never loads a driver.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/units.h"
#include "gpushare/mem/mem.h"

#define TIMEOUT_MS 10000
#define TIMEOUT_MOST_MS (86400 * 1000) /* as preempt_timeout of gpushare.conf */

/* Facts of the driver API: all arguments structs are 64 bytes. */
struct lock_args {
	unsigned int timeout_ms, reserved0;
	uint64_t reserved[7];
};
struct other_args {
	uint64_t reserved[8];
};

enum { RUNNING, LOCKED, CHECKPOINTED, FAILED };
static const char *const states[] = { "running", "locked", "checkpointed", "failed" };

static struct driver {
	int (*init)(unsigned int flags);
	int (*name)(int rc, const char **name);
	int (*lock)(int pid, struct lock_args *args);
	int (*checkpoint)(int pid, struct other_args *args);
	int (*restore)(int pid, struct other_args *args);
	int (*unlock)(int pid, struct other_args *args);
	int (*state)(int pid, int *state);
} cu;

static int open_driver(const char *path)
{
	static const struct {
		const char *name;
		size_t offset;
	} symbols[] = {
		{ "cuInit", offsetof(struct driver, init) },
		{ "cuGetErrorName", offsetof(struct driver, name) },
		{ "cuCheckpointProcessLock", offsetof(struct driver, lock) },
		{ "cuCheckpointProcessCheckpoint", offsetof(struct driver, checkpoint) },
		{ "cuCheckpointProcessRestore", offsetof(struct driver, restore) },
		{ "cuCheckpointProcessUnlock", offsetof(struct driver, unlock) },
		{ "cuCheckpointProcessGetState", offsetof(struct driver, state) },
	};
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		fprintf(stderr, "gpushare-mem: %s\n", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *f = dlsym(lib, symbols[i].name);

		if (!f) {
			fprintf(stderr,
				"gpushare-mem: the driver cannot checkpoint: it has no %s\n",
				symbols[i].name);
			return -1;
		}
		memcpy((char *)&cu + symbols[i].offset, &f, sizeof(f));
	}
	return 0;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int done(const char *what, int rc)
{
	const char *name = NULL;

	if (rc == 0)
		return 0;
	if (cu.name(rc, &name) != 0 || !name)
		name = "an unknown error";
	fprintf(stderr, "gpushare-mem: %s: %s\n", what, name);
	return -1;
}

static int checkpoint(int pid, unsigned int timeout_ms)
{
	struct lock_args lock = { .timeout_ms = timeout_ms };
	struct other_args args = { { 0 } };
	double t0 = now_s(), t1;

	if (done("the process does not come to rest", cu.lock(pid, &lock)) < 0)
		return 1;
	t1 = now_s();
	if (done("checkpoint", cu.checkpoint(pid, &args)) < 0) {
		memset(&args, 0, sizeof(args));
		cu.unlock(pid, &args);
		return 1;
	}
	printf("locked in %.6f s, checkpointed in %.6f s\n", t1 - t0, now_s() - t1);
	return 0;
}

#define REFUSED 3 /* the driver does not bring the memory back; gpushared counts these */

/* Whatever has become of an attempt before: in the end the process runs. */
static int restore(int pid)
{
	struct other_args args = { { 0 } };
	double t0 = now_s(), t1;
	int was = FAILED;

	if (done("state", cu.state(pid, &was)) < 0)
		return 1;
	if (was == RUNNING) {
		puts("it runs");
		return 0;
	}
	if (was != LOCKED && done("restore", cu.restore(pid, &args)) < 0)
		return REFUSED;
	t1 = now_s();
	memset(&args, 0, sizeof(args));
	if (done("unlock", cu.unlock(pid, &args)) < 0)
		return 1;
	printf("restored in %.6f s, unlocked in %.6f s\n", t1 - t0, now_s() - t1);
	return 0;
}

static int state(int pid)
{
	int s = FAILED;

	if (done("state", cu.state(pid, &s)) < 0)
		return 1;
	puts(s >= RUNNING && s <= FAILED ? states[s] : "unknown");
	return 0;
}

int mem_run_checkpoint(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "driver", required_argument, NULL, 'd' },
		{ "timeout", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	const char *driver = "libcuda.so.1", *verb = argv[0];
	int64_t pid = 0, timeout = TIMEOUT_MS;
	struct gs_error err = { "which process?" };
	int c, bad = 0;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'd')
			driver = optarg;
		else if (c != 't' || gs_parse_int(optarg, 1, TIMEOUT_MOST_MS, &timeout, &err) < 0)
			bad = 1;
	}
	if (bad || optind + 1 != argc || gs_parse_int(argv[optind], 2, INT32_MAX, &pid, &err) < 0) {
		fprintf(stderr, "gpushare-mem: %s\nTry 'gpushare-mem --help'.\n", err.text);
		return 2;
	}
	if (open_driver(driver) < 0 || done("cuInit", cu.init(0)) < 0)
		return 1;
	if (strcmp(verb, "checkpoint") == 0)
		return checkpoint((int)pid, (unsigned int)timeout);
	return strcmp(verb, "restore") == 0 ? restore((int)pid) : state((int)pid);
}
