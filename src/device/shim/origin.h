/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which modules are the program's own, to be made preemptible, and which go to the driver exactly
 * as they are: what comes from a shared library (cuFFT counts its modules' functions, cuSOLVER has
 * code whose PTX takes a minute to compile), and on a GPU what would take long to compile.
 */
#ifndef GPUSHARE_SHIM_ORIGIN_H
#define GPUSHARE_SHIM_ORIGIN_H

#include <stddef.h>

#include "device/driver/emu_export.h"
#include "device/ptx/transform.h"

/* Where an address lies. */
enum shim_place {
	SHIM_PLACE_PROGRAM, /* in the program's main executable */
	SHIM_PLACE_LIBRARY, /* in a shared library */
	SHIM_PLACE_MEMORY   /* in neither: the heap, a stack, a file that was mapped */
};

enum shim_place shim_place_of(const void *address);

/*
 * Why an image stays as it is, by where it lies and where its caller does, or NONE.  The program's
 * own image may be passed on by a library (libcudart.so); of one in memory only the caller is
 * known.
 */
enum ptx_reason shim_origin_reason(enum shim_place image, enum shim_place caller);
/* The same of addresses; image NULL: it is a file's. */
enum ptx_reason shim_origin(const void *image, const void *caller);
/* Of the exported function that it stands in. */
#define SHIM_CALLER __builtin_return_address(0)

/* More than these, and the driver's compiler takes more of a program's start than evictions are
 * worth. */
#define SHIM_MODULE_KERNELS_MAX 32
#define SHIM_MODULE_PTX_MAX ((size_t)256 << 10)
int shim_is_large(const char *text, size_t len);

/* What the emulated device offers, on which nothing is too large; NULL: it is another driver. */
const struct gs_emu_export *shim_emulated(void);

#endif
