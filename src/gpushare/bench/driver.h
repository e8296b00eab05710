/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver, found at run time as any program's is: libcuda.so.1 by its name,
 * so that LD_LIBRARY_PATH decides between the real driver, the emulated device
 * and gpushare's shim, and the tool itself starts where there is none.
 */
#ifndef GPUSHARE_BENCH_DRIVER_H
#define GPUSHARE_BENCH_DRIVER_H

#include "common/error.h"
#include "device/driver/cuda.h"

struct bench_driver {
#define F(name) __typeof__(&(name)) name;
#include "gpushare/bench/driver.def"
#undef F
};

/*
 * Open `path` (NULL: libcuda.so.1 by name) for the rest of the process's life.
 * Returns NULL with the reason: not found, or a function is missing.
 */
const struct bench_driver *bench_driver_open(const char *path, struct gs_error *err);

/*
 * The driver that `cu` passes its calls on to, if it is gpushare's shim, never the shim itself;
 * `cu` if it is none.  After cuInit.  NULL with the reason: none is loaded, or a function is
 * missing.
 */
const struct bench_driver *bench_driver_beneath(const struct bench_driver *cu,
						struct gs_error *err);

/* 0, or -1 with "call: the driver's words". */
int bench_driver_check(const struct bench_driver *cu, CUresult rc, const char *call,
		       struct gs_error *err);

/* BENCH_CU(cu, err, cuMemAlloc, &p, n): call it and check; 0 or -1. */
#define BENCH_CU(cu, err, name, ...) bench_driver_check((cu), (cu)->name(__VA_ARGS__), #name, (err))

#endif
