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

/* What code uses, as CUBIN_USES_... */
uint32_t cubin_code_uses(const uint8_t *code, size_t size);
/*
 * The next instruction from *at on, 0 at first, that reads constant bank 3 or 4.  1: it loads an
 * address from *place in bank 4; -1: it does anything else; 0: there is none.
 */
int cubin_code_next_address(const uint8_t *code, size_t size, size_t *at, uint32_t *place);

/* Is it one of CUDA's own mathematical tables (tables.def)? */
int cubin_is_table(const struct cubin_elf *e, uint32_t symbol);
/* Are those all that the code reads in constant banks 3 and 4? */
int cubin_reads_tables_only(const struct cubin_elf *e, const uint8_t *code, size_t size);
/* A module's variables up to the last table may be so many bytes, or no kernel takes tables along.
 */
#define CUBIN_TABLES_MAX 65536u

/* Only kernel i of `from`, which is not changed: a new model.  0, or -1 with *reason. */
int cubin_cut_model(const struct cubin *from, uint32_t i, struct cubin_elf *to,
		    enum cubin_reason *reason, struct gs_error *err);

#endif
