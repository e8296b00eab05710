/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside gpushare-emu: where the libraries are, what became of the kernels. */
#ifndef GPUSHARE_EMU_TOOL_H
#define GPUSHARE_EMU_TOOL_H

#include <limits.h>

#include "common/error.h"

/* ---- places.c ---- */

struct emu_places {
	char shim_dir[PATH_MAX];   /* folder of the shim's libcuda.so.1 */
	char driver[PATH_MAX];     /* the emulated device's libcuda.so.1 */
	char cudart_dir[PATH_MAX]; /* folder of the emulated libcudart */
};

/* Beside this executable (build tree, then installed), or where it was configured to be.  0 or -1.
 */
int emu_places_find(struct emu_places *places, struct gs_error *err);

/* ---- summary.c ---- */

/*
 * Tell what the shim wrote into `from` (device/shim/kernel/summary.h; none of it if
 * the program used no kernel): on standard error, or as JSON into the file
 * `json` unless that is NULL.  0 or -1.
 */
int emu_summary(const char *from, const char *json, const char *program, int status,
		struct gs_error *err);

#endif
