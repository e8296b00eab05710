/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The papers' kernels (suite.def) at any size, in a context of this process. */
#ifndef GPUSHARE_BENCH_SUITE_H
#define GPUSHARE_BENCH_SUITE_H

#include "gpushare/bench/driver.h"

#define BENCH_SUITE_Q_LEAST 4
#define BENCH_SUITE_Q_MAX 65535 /* a grid's second dimension */

struct bench_suite; /* one kernel of one size, with its memory */

/* Names of entry number i; NULL beyond the last. */
const char *bench_suite_file(size_t i);
const char *bench_suite_kernel(size_t i);

/* Block-tasks and bytes of device memory of entry i at size q. */
uint64_t bench_suite_tasks(size_t i, uint64_t q);
uint64_t bench_suite_bytes(size_t i, uint64_t q);

/* How a kernel finds its size: it doubles until a launch takes long enough or it has the memory. */
struct bench_suite_growth {
	uint64_t target_ns, bytes;
	/* Launch kernel i at size q so many times in a row; ns of one, or 0 with the reason. */
	double (*launch)(void *of, size_t i, uint64_t q, uint32_t launches, struct gs_error *err);
	void *of;
};

/* The size of entry i, and what a launch takes then.  -1 with the reason. */
int bench_suite_grow(const struct bench_suite_growth *growth, size_t i, uint64_t *q, double *ns,
		     struct gs_error *err);

/*
 * Load FOLDER/file.ptx, make and fill the memory.  NULL with the reason.  The
 * context is current.
 */
struct bench_suite *bench_suite_load(const struct bench_driver *cu, const char *folder, size_t i,
				     uint64_t q, struct gs_error *err);
void bench_suite_unload(struct bench_suite *suite); /* NULL is fine */

int bench_suite_launch(struct bench_suite *suite, CUstream stream, struct gs_error *err);

#endif
