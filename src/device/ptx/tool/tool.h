/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of gpushare-ptx. */
#ifndef GPUSHARE_PTX_TOOL_H
#define GPUSHARE_PTX_TOOL_H

#include <stdio.h>

#include <jansson.h>

#include "device/cubin/cubin.h"
#include "device/ptx/tool/code.h"
#include "device/ptx/transform.h"

/* Exit statuses (gpushare-ptx(1)). */
enum { TOOL_OK = 0, TOOL_NOT_PREEMPTIBLE = 1, TOOL_ERROR = 2 };

/* A kernel whose machine code is to get a guard. */
struct tool_guard {
	const char *path, *kernel, *out; /* out: the file for the cubin */
	enum cubin_guard kind;
	int clusters; /* it is launched in clusters */
};

/* Out of these bytes of what->path, the first machine code that gets a guard: a status. */
int tool_guard(const struct tool_guard *what, const void *data, size_t len);

/* One line per kernel and a summary; -1 when writing failed.  variants: by kernel, or NULL. */
int tool_report_text(FILE *to, const char *path, const struct ptx_transformed *t);
int tool_report_json(FILE *to, const char *path, const struct ptx_transformed *t,
		     json_t *const *variants);

/* Kernels that stay as they are. */
uint32_t tool_count_as_is(const struct ptx_transformed *t);

/*
 * What became of the kernel's variants for a compute capability: an array with
 * for each its form, and for original and variant the registers, the spilled bytes
 * and the blocks of `threads` threads (0: as many as the kernel may have, or
 * 256) that an SM holds.  "kept" is true if the variant's are too few, for which
 * the original is launched instead, or more bytes are spilled.
 */
json_t *tool_variants(const struct ptx_kernel *k, const struct tool_codes *codes, uint32_t sm,
		      uint32_t threads);
/* Is the kernel's best variant given up? */
int tool_is_kept(const json_t *variants);
void tool_print_variants(FILE *to, const struct ptx_kernel *k, const json_t *variants);

#endif
