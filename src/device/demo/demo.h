/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the demo programs share: ordinary programs of the CUDA driver API.
 * They know nothing of gpushare.
 */
#ifndef GPUSHARE_DEMO_DEMO_H
#define GPUSHARE_DEMO_DEMO_H

#include <cuda.h>
#include <stddef.h>

/* One numeric option of a program. */
struct demo_option {
	const char *name; /* without the dashes */
	const char *words;
	long value; /* default, then what the user gave */
	long min, max;
};

/*
 * Parse --NAME N for each option (ends with name NULL), --help and --version.
 * Exits with 2 and a line on standard error for anything else.
 */
void demo_options(int argc, char **argv, const char *what, struct demo_option *options);

/* Exits with 1 and the driver's words when rc is an error. */
void demo_check(CUresult rc, const char *call);
#define CHECK(call) demo_check((call), #call)

/* A context on device 0 and the module's kernel `name`. */
CUfunction demo_start(const char *ptx, const char *name);

/* Device memory of `bytes`, filled from `host` unless that is NULL. */
CUdeviceptr demo_memory(const void *host, size_t bytes);

/*
 * Launch `repeats` times, one after another, and wait; prints how long it took.
 */
void demo_launch(CUfunction f, const unsigned int grid[3], const unsigned int block[3],
		 long repeats, void **params);

/* Print the verdict and end the program: 0 if `wrong` is 0, otherwise 1. */
int demo_verdict(size_t checked, size_t wrong);

/* Host memory or exit. */
void *demo_host(size_t bytes);

#endif
