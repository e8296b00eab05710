/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a loaded kernel of the suite is made of, for the files that launch it; see suite.h. */
#ifndef GPUSHARE_BENCH_SUITE_LOADED_H
#define GPUSHARE_BENCH_SUITE_LOADED_H

#include "gpushare/bench/suite.h"

#define BENCH_SUITE_ARGS_MAX 12

enum bench_suite_arg_kind {
	ARG_NONE,
	ARG_OUT,
	ARG_IN,
	ARG_BELOW,
	ARG_ROWS,
	ARG_INT,
	ARG_REAL,
	ARG_VAR
};

struct bench_suite_arg {
	enum bench_suite_arg_kind kind;
	char fill;
	uint64_t n, bytes;
	float real;
	const char *name;
};

struct bench_suite_entry {
	const char *file, *kernel;
	uint64_t gx, gy;
	unsigned bx, by, shared;
	struct bench_suite_arg arg[BENCH_SUITE_ARGS_MAX];
};

struct bench_suite {
	const struct bench_driver *cu;
	struct bench_suite_entry entry;
	CUmodule module;
	CUfunction function;
	CUdeviceptr memory[BENCH_SUITE_ARGS_MAX];
	uint64_t value[BENCH_SUITE_ARGS_MAX];
	void *param[BENCH_SUITE_ARGS_MAX];
	size_t params;
};

/* The text of FOLDER/file.ptx, to be freed.  NULL with the reason. */
char *bench_suite_text(const char *folder, const char *file, struct gs_error *err);

/* bench_suite_load() with the PTX at hand: one that has the kernel, perhaps beside others. */
struct bench_suite *bench_suite_load_text(const struct bench_driver *cu, const char *text, size_t i,
					  uint64_t q, struct gs_error *err);

/* The same kernel, number i, with new memory for another size.  After a failure it can only be
 * unloaded. */
int bench_suite_resize(struct bench_suite *suite, size_t i, uint64_t q, struct gs_error *err);

#endif
