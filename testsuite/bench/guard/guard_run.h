/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of guard_run: guarded kernels on a GPU against what they are without. */
#ifndef TESTSUITE_GUARD_RUN_H
#define TESTSUITE_GUARD_RUN_H

#include <stdint.h>
#include <stdio.h>

#include "device/cubin/cubin.h"
#include "device/driver/cuda.h"
#include "device/ptx/guard.h"

/* ---- driver.c: the driver, which is loaded at run time; each failure ends the program ---- */

struct driver {
#define F(name) __typeof__(&name) name;
#include "calls.def"
#undef F
};
extern struct driver cu;

void must_be(CUresult result, const char *what);
#define MUST(call) must_be(cu.call, #call)

struct gpu {
	CUdevice device;
	CUstream run, evict; /* low and high priority */
	int sms;
	uint32_t *leave;   /* pinned: GS_GUARD_LEAVE_UPPER */
	CUdeviceptr guard; /* of GS_GUARD_BYTES */
	CUdeviceptr count; /* of differing words */
	CUfunction fill, differ;
};
extern struct gpu gpu;

void gpu_open(void); /* the first device, and its name to standard output */
CUdeviceptr gpu_alloc(size_t bytes);
CUdeviceptr gpu_alloc_at(CUdeviceptr at, size_t bytes); /* 0: that address is taken */
void gpu_fill(CUdeviceptr p, size_t bytes, unsigned seed);
uint64_t gpu_differ(CUdeviceptr a, CUdeviceptr b, size_t bytes);
CUmodule gpu_load(const void *image, const char *name, int must); /* NULL: refused */
/* Waits for what runs; ends the program after 10 seconds. */
void gpu_finish(void);

double now_us(void);
void delay_us(double us);
double random_part(void); /* 0 to 1 */
uint64_t random_word(void);

/* ---- tests.c: the kernels and how each is launched ---- */

#define ARGS_MAX 5

struct test {
	const char *name, *kernel;
	unsigned grid[3], block[3], cluster[3], shared;
	uint64_t args[ARGS_MAX]; /* each in its own eight bytes */
	unsigned nargs;
	CUdeviceptr out;
	size_t out_bytes;
	CUdeviceptr scratch; /* zero before a run as well; 0: none */
	size_t scratch_bytes;
	int counts; /* out has a word for each block: how many of its threads ran */
	CUfunction native;
};

extern struct test tests[];
extern const unsigned ntests;

void tests_prepare(void); /* memory and arguments */
uint64_t test_units(const struct test *t);
unsigned test_threads(const struct test *t);
/* Puts the test's memory back, as before its first launch. */
void test_reset(const struct test *t);
/* guard: its parameter, or NULL for the original. */
void test_launch(const struct test *t, CUfunction f, const struct gs_guard *guard);

/* ---- steps.c ---- */

struct guarded {
	const struct test *test;
	enum cubin_guard kind;
	struct cubin_guarded made;
	CUfunction f;
	unsigned group;   /* log2 */
	CUdeviceptr want; /* the original's output */
};

struct result {
	unsigned runs, launches, evictions, wrong, not_prefix, stuck;
	double native_us, cost_p50, cost_mean, gone_p50, gone_p99, block_us, waves;
	unsigned gone_count;
};

/* The original's time, its waves and the time of a block. */
void step_native(const struct test *t, struct result *r);
/* `runs` runs, each evicted up to six times at random moments (evict) or never. */
void step_random(struct guarded *g, struct result *r, unsigned runs, int evict);
void step_cost(struct guarded *g, struct result *r, unsigned pairs);
void step_gone(struct guarded *g, struct result *r, unsigned times);

#endif
