/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The preemption-enabling transformation (EffiSha, section 5; FRS,
 * section III-A): PTX text in, PTX text out.  Every original kernel stays in
 * the module, a preemptible variant stands beside it, over the same globals.
 * Pure: no I/O, no globals, never exits.
 */
#ifndef GPUSHARE_PTX_TRANSFORM_H
#define GPUSHARE_PTX_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "device/ptx/kind.h"

struct ptx_kernel {
	char *name;                        /* the entry's, as in the module */
	enum ptx_transform_kind transform; /* the best of those asked for that it may have */
	uint32_t transforms;               /* whose variants are in the text: a set */
	enum ptx_reason reason; /* why not the next better form asked for; NONE if there is none */
	uint32_t reason_line;
	struct ptx_refusal why_not[PTX_TRANSFORM_COUNT]; /* for each form, asked for or not */
	uint32_t nparam;                                 /* of the original */
	uint32_t *param_offset; /* byte offset of each in the parameter block */
	uint32_t *param_size;   /* bytes */
	uint32_t ctl_offset;    /* of the added parameter: the gs_ctl's address, of GUARDED the
				   gs_guard, of SLICED the gs_slice */
	uint32_t static_shared; /* bytes declared by the original, an upper bound */
	uint32_t max_threads;   /* of a block, by .reqntid or .maxntid; 0: not said */
	uint8_t uses_barrier;
	uint8_t sync_aware;  /* PERSISTENT: its barriers also count threads that are done, which
				costs more */
	uint8_t whole_warps; /* PERSISTENT: launch it, and not another of `transforms`, only if the
			      * block is one row of threads (blockDim.y == blockDim.z == 1) or
			      * blockDim.x is a multiple of 32; otherwise lanes of a warp may part
			      * that were taken to stay together */
};

struct ptx_transformed {
	char *text; /* NUL-terminated; len without the NUL */
	size_t len;
	struct ptx_kernel *kernel;
	uint32_t nkernel;
	uint64_t content; /* ptx_content() of what it was made from */
};

/*
 * Give every entry the best form that it allows.  Returns NULL with
 * "line N: reason" when the text cannot be parsed at all; a kernel that cannot
 * be transformed is no error.
 */
struct ptx_transformed *ptx_transform(const char *text, size_t len, struct gs_error *err);

/*
 * The same with the forms of the set `transforms` only.  every: a variant of each form
 * of the set that the entry allows, instead of the best alone.
 */
struct ptx_transformed *ptx_transform_only(const char *text, size_t len, uint32_t transforms,
					   int every, struct gs_error *err);

/* A hash of a text, the same in every process; never 0. */
uint64_t ptx_content(const char *text, size_t len);
void ptx_transformed_free(struct ptx_transformed *t); /* NULL is fine */

#endif
