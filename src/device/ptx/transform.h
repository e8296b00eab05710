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

/* Behind the original name: the preemptible variant's. */
#define PTX_PERSISTENT_SUFFIX "__gpushare_p"
#define PTX_GUARDED_SUFFIX "__gpushare_g"
#define PTX_SLICED_SUFFIX "__gpushare_s"

/* Best first, but for AS_IS.  The numbers are part of the client protocol: only ever append. */
enum ptx_transform_kind {
	PTX_TRANSFORM_AS_IS,      /* original only: held at launch boundaries */
	PTX_TRANSFORM_PERSISTENT, /* workers that claim block-tasks in a loop (ctl.h) */
	PTX_TRANSFORM_GUARDED,    /* a block asks before it begins, or leaves (guard.h) */
	PTX_TRANSFORM_SLICED,     /* launches over ranges of block-tasks (slice.h) */
	PTX_TRANSFORM_COUNT
};

/* Sets of forms; AS_IS is in none. */
#define PTX_TRANSFORM_BIT(transform) (1u << (transform))
#define PTX_TRANSFORMS_ALL \
	(PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED) | \
	 PTX_TRANSFORM_BIT(PTX_TRANSFORM_SLICED))

/*
 * Beside PERSISTENT in such a set: also where whole warps may leave before a
 * barrier, whose variant answers it for them.  Otherwise such kernels are refused
 * that form: what their variants do is right on the emulated device, but two of
 * them hung on an H200, and what mends that has not run there.
 */
#define PTX_TRANSFORMS_SYNC_AWARE 0x100u
/*
 * Beside forms in such a set: the best one that an entry allows stands in the entry's place, under
 * its name; an entry that allows none stays.
 */
#define PTX_TRANSFORMS_ALONE 0x200u

/* Why a kernel gets no better form: PTX_REASON(NAME, "words", best form that it leaves). */
enum ptx_reason {
#define PTX_REASON(name, words, best) PTX_REASON_##name,
#include "device/ptx/reasons.def"
#undef PTX_REASON
	PTX_REASON_COUNT
};

/*
 * OCCUPANCY: an SM holds `own` blocks of the original and `variant` of its variant.  Up
 * to a quarter of them may go: a kernel that cannot be evicted costs others more
 * (doc/ptx-transform.md has what was measured).
 */
static inline int ptx_variant_costs_blocks(uint32_t own, uint32_t variant)
{
	return 4 * (uint64_t)variant < 3 * (uint64_t)own;
}

const char *ptx_transform_name(enum ptx_transform_kind transform); /* "persistent" */
const char *
ptx_transform_suffix(enum ptx_transform_kind transform); /* "__gpushare_p"; "" of AS_IS */
const char *ptx_reason_words(enum ptx_reason reason);    /* "uses thread-block clusters" */
const char *ptx_reason_name(enum ptx_reason reason);     /* "CLUSTER" */

/* NONE: admissible. */
struct ptx_refusal {
	enum ptx_reason reason;
	uint32_t line; /* where in the text, 0 if nowhere */
};

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
