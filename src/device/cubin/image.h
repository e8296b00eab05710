/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An opened cubin from inside. */
#ifndef GPUSHARE_CUBIN_IMAGE_H
#define GPUSHARE_CUBIN_IMAGE_H

#include "device/cubin/cubin.h"
#include "device/cubin/elf.h"

/* Constant bank 0 of sm_90: below the parameters stands what the driver fills in. */
#define CUBIN_PARAMS_AT 0x210u
/* What a kernel may have without the later layout of parameters. */
#define CUBIN_PARAMS_MAX 4096u
/* The architecture that the guards are for. */
#define CUBIN_SM 90u

/* The sections of a kernel, 0 where it has none. */
struct cubin_parts {
	uint32_t symbol; /* the kernel's */
	uint32_t text, info, params, shared;
	uint32_t registers, local; /* as the module's attributes say */
};

struct cubin {
	struct cubin_elf elf;
	struct cubin_parts *kernel;
	uint32_t kernels, sm;
	uint32_t shared_reserved; /* bytes of each block's shared memory that are the system's */
};

/*
 * What cubin_kernel() fills, with the reason why the kernel may not be cut out
 * and guarded; it goes on behind the first reason.
 */
void cubin_facts(const struct cubin *c, uint32_t i, struct cubin_kernel *k, struct gs_error *err);

/* Is symbol y the kernel of these parts, or a function or a label in its code? */
int cubin_is_inside(const struct cubin_elf *e, const struct cubin_parts *p, uint32_t y);

/* What code uses, as CUBIN_USES_... */
uint32_t cubin_code_uses(const uint8_t *code, size_t size);

/* Only kernel i of `from`, which is not changed: a new model.  0, or -1 with *reason. */
int cubin_cut_model(const struct cubin *from, uint32_t i, struct cubin_elf *to,
		    enum cubin_reason *reason, struct gs_error *err);

#endif
