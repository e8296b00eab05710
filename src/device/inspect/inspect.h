/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an executable, a library, a fatbin or a cubin carries, and how
 * preemptible its kernels are: for gpushare-ptx(1).
 */
#ifndef GPUSHARE_INSPECT_INSPECT_H
#define GPUSHARE_INSPECT_INSPECT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* Is it something that gs_inspect() reads (anything but PTX text)? */
int gs_inspect_handles(const void *data, size_t len);

/*
 * The report for devices of compute capability sm (90 for 9.0), or with sm 0
 * for whatever device each PTX is for; a new reference: "file", "image", "containers" with their
 * "entries", "kernels" with "form", "reason" and for which architectures each
 * has "ptx" and "machine_code", and its "guards", which its machine code may get, or
 * "guard_reason" and "guard_words", "uses_pdl" where that has instructions of programmatic
 * dependent launch, "kernel_count", "as_is".  A kernel that PTX gives
 * no better form is that of a variant of its own that the program ships ("shipped" lists them, and
 * they are no kernels), else "guarded" by its machine code if that may have a guard.  A container's
 * "not_replaced" lists the machine code in whose place its PTX may not stand
 * (gs_fatbin_ptx_stands_in): there its kernels stay as they are.  A part that
 * is corrupt gets an "error" and the rest is read.  NULL: no such image at all.
 */
json_t *gs_inspect(const char *path, const void *data, size_t len, uint32_t sm,
		   struct gs_error *err);
/* The same if kernels may get the forms of a set only (ptx/kind.h), not those that the shim
 * launches. */
json_t *gs_inspect_transforms(const char *path, const void *data, size_t len, uint32_t sm,
			      uint32_t transforms, struct gs_error *err);

/* The same in words, or only the kernels that stay as they are; -1 when writing failed. */
int gs_inspect_print(FILE *to, const json_t *report, int only_as_is);

#endif
