/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cubins: the kernels in them, and guards in front of their code, so that a
 * kernel can leave the GPU (device/ptx/guard.h says what a guard does).  A pure
 * library: bytes in, bytes out; no I/O, no globals, never exits.  Every offset
 * and length of the input is checked.  doc/cubin.md has the format.
 *
 * Functions return 0 or a count, or -1 or NULL with a message in *err, which
 * may be NULL.
 */
#ifndef GPUSHARE_CUBIN_CUBIN_H
#define GPUSHARE_CUBIN_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Why a kernel gets no guard. */
enum cubin_reason {
#define CUBIN_REASON(name, words) CUBIN_REASON_##name,
#include "device/cubin/reasons.def"
#undef CUBIN_REASON
	CUBIN_REASON_COUNT
};

const char *cubin_reason_name(enum cubin_reason reason);  /* "VARIABLES" */
const char *cubin_reason_words(enum cubin_reason reason); /* "touches ..." */

enum cubin_guard {
	CUBIN_GUARD_MAXB, /* each block asks: for blocks of 20 microseconds and more */
	CUBIN_GUARD_MAXT, /* groups of blocks ask: for shorter ones */
	CUBIN_GUARD_COUNT
};

const char *cubin_guard_name(enum cubin_guard kind); /* "maxb" */
/* 0 with *kind filled, or -1: no such kind. */
int cubin_guard_find(const char *name, enum cubin_guard *kind);

/* ---- the one call that a launcher needs ---- */

struct cubin_guarded {
	uint8_t *image;           /* the cubin of the one kernel, malloc'd; NULL: refused */
	size_t size;              /* its bytes */
	enum cubin_reason reason; /* NONE, or why it was refused */
	enum cubin_guard kind;
	uint32_t param;        /* the guard's parameter: its ordinal... */
	uint32_t param_offset; /* ...and its offset among the parameters, in bytes */
	uint32_t param_bytes;  /* of all parameters with it, for packed ones */
	uint32_t guard_bytes;  /* of code in front of the kernel's own */
	uint32_t registers, registers_before;
};

/*
 * The kernel of that name, cut out of its cubin, with a guard of that kind in
 * front; it keeps its name.  clusters: it will be launched in clusters, whether
 * it says so itself or not; the guard then decides for whole clusters.  The
 * image may stand in memory that others read meanwhile; it is not changed.
 *
 * 1: *out is filled, and its image is the caller's to free; 0: the kernel is
 * refused, out->reason and *err say why; -1: no cubin, no such kernel, or no memory.
 */
int cubin_guard_kernel(const void *image, size_t size, const char *kernel, enum cubin_guard kind,
		       int clusters, struct cubin_guarded *out, struct gs_error *err);

/* ---- reading ---- */

struct cubin; /* an opened image; it refers to the caller's bytes */

struct cubin *cubin_open(const void *image, size_t size, struct gs_error *err);
void cubin_close(struct cubin *c);

uint32_t cubin_sm(const struct cubin *c);      /* 90; 0: not known */
uint32_t cubin_abi(const struct cubin *c);     /* 7: up to CUDA 12, 8: CUDA 13 */
uint32_t cubin_kernels(const struct cubin *c); /* how many */

#define CUBIN_USES_PDL 1u         /* instructions of programmatic dependent launch */
#define CUBIN_USES_COOPERATIVE 2u /* what only a cooperative launch sets up */
#define CUBIN_USES_VARIABLES 4u   /* constant banks 3 or 4: the module's variables */
#define CUBIN_USES_CONSTANTS \
	8u /* the same, but only constants that a copy can replace, and the driver's functions */

struct cubin_kernel {
	const char *name;         /* inside the image */
	enum cubin_reason reason; /* why it gets no guard, or NONE */
	uint32_t registers, barriers;
	uint32_t params, param_bytes;
	uint64_t shared;      /* static, in bytes */
	uint64_t local;       /* of a thread's stack, in bytes */
	uint32_t max_threads; /* of a block, as it was compiled; 0: not said */
	uint32_t cluster[3];  /* blocks of a cluster, as it was compiled; 0: not said */
	uint32_t uses;        /* CUBIN_USES_... */
	uint64_t code_bytes;
};

/* Kernel i of cubin_kernels().  *err says more about its reason, if there is one. */
int cubin_kernel(const struct cubin *c, uint32_t i, struct cubin_kernel *k, struct gs_error *err);
/* The index of the kernel of that name, or -1. */
int64_t cubin_find(const struct cubin *c, const char *name);
/* Where parameter `ordinal` of kernel i stands, in bytes.  0, or -1: it has no such one. */
int cubin_param(const struct cubin *c, uint32_t i, uint32_t ordinal, uint32_t *offset,
		uint32_t *size);

/* ---- writing: malloc'd images of *size bytes, the caller's to free ---- */

/* The image as it was opened: byte for byte the same for each that a known tool wrote. */
uint8_t *cubin_write(const struct cubin *c, size_t *size, struct gs_error *err);

/*
 * Kernel i alone, with what it needs, without the others and without what is
 * for debuggers.  NULL: also where that may not be done, with the reason in
 * *reason (NONE: no memory).
 */
uint8_t *cubin_cut(const struct cubin *c, uint32_t i, size_t *size, enum cubin_reason *reason,
		   struct gs_error *err);

#endif
