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
 * Finds the next instruction at or after *at, which is 0 at first, that reads constant bank 3 or 4.
 * 1: it loads the address in *place of bank 4; -1: it does anything else, or its place is not
 * known; 0: there is none.
 */
int cubin_code_next_address(const uint8_t *code, size_t size, size_t *at, uint32_t *place);
/*
 * Can a jump land between the MOV that sets an index and the load that uses it?  Then a place that
 * cubin_code_next_address() found is not certain.
 */
int cubin_code_jumps_between(const uint8_t *code, size_t size);

/* Is it one of the functions that the driver adds to a module that calls them: assert, printf ...?
 */
int cubin_is_drivers(const struct cubin_elf *e, uint32_t symbol);
/*
 * Does the code take nothing else from constant banks 3 and 4 than the addresses of the driver's
 * functions and of constants that a copy can replace: CUDA's own mathematical tables (tables.def)
 * and strings?  taken[symbol] becomes 1 for each; it may be NULL.
 */
int cubin_takes_constants_only(const struct cubin_elf *e, const uint8_t *code, size_t size,
			       uint8_t *taken);

/* Only kernel i of `from`, which is not changed: a new model.  0, or -1 with *reason. */
int cubin_cut_model(const struct cubin *from, uint32_t i, struct cubin_elf *to,
		    enum cubin_reason *reason, struct gs_error *err);

#endif
