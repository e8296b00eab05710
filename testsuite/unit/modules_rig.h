/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver that gives out handles of modules, libraries and their kernels, with nothing behind
 * them, over fake_driver.h: what the files of the test test_shim_modules share.
 */
#ifndef TESTSUITE_UNIT_MODULES_RIG_H
#define TESTSUITE_UNIT_MODULES_RIG_H

#include <stdint.h>

#include "device/shim/base/wraps.h"
#include "device/shim/kernel/kernels.h"

extern void *shim_slot[SHIM_FN_COUNT];
#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

/* A module with the kernel "k". */
extern const char ptx[];

/* The handle of what was loaded last; the next one's is 0x100000 above it. */
extern uintptr_t next_handle;

/* What the last call was given. */
extern struct got {
	const void *image, *path, *options, *values;
	unsigned int n;
	uint64_t hash; /* of the image's text */
} got;

/* For cmocka, once for all groups. */
int modules_rig_setup(void **state);

CUlibrary library_of(const char *text);
CUmodule module_of(const char *text);
/* Unloads the module; the next one that is loaded gets its handle. */
void unload(CUmodule module);

/* Of the kernel "k" of a module; of a library, however the program asks for it. */
struct shim_kernel *kernel_of(CUmodule module);
const struct shim_code *code_of(CUlibrary library);

/* The groups of the other files; how many tests failed. */
int shim_images(void);
int shim_reloads(void);
int shim_forgotten(void);
int shim_settings(void);
int shim_cost(void);

#endif
