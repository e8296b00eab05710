/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guards as bytes of sm_90 code, made by ptxas (templates/make-templates).
 * Their parameter stands where a kernel without parameters has its first; the
 * only field that differs elsewhere is the offset in their LDC and ULDC.
 */
#ifndef GPUSHARE_CUBIN_TEMPLATE_H
#define GPUSHARE_CUBIN_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>

#include "device/cubin/cubin.h"

struct cubin_template {
	enum cubin_guard kind;
	int clusters;
	const uint64_t *code; /* two words for each instruction */
	size_t code_size;     /* bytes, a multiple of 128 */
	const uint8_t *info;  /* its attributes, as in a section .nv.info.KERNEL */
	size_t info_size;
	uint32_t registers;
};

extern const struct cubin_template cubin_templates[];
extern const size_t cubin_template_count;

/* The guard of a kind, for grids of clusters or others; NULL: there is none. */
const struct cubin_template *cubin_template_find(enum cubin_guard kind, int clusters);

/* Its code with the parameter at `at` bytes behind the first one's place; `to` has code_size bytes.
 */
void cubin_template_copy(const struct cubin_template *t, uint32_t at, uint8_t *to);

#endif
