/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transforms, their names and suffixes, and why a kernel may not have one. */
#ifndef GPUSHARE_PTX_KIND_H
#define GPUSHARE_PTX_KIND_H

#include <stdint.h>

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
/* Those that the shim launches.  Whatever may be sliced may be guarded, but for PTX ISAs
 * before 6.0. */
#define PTX_TRANSFORMS_LAUNCHED \
	(PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED))

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
#include "common/reasons.def"
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

#endif
