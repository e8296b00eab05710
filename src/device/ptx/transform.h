/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The preemption-enabling transformation (seed 000, section 5; seed 004,
 * section III-A): PTX text in, PTX text out.  Every original kernel stays in
 * the module, a transformed twin stands beside it, over the same globals.
 * Pure: no I/O, no globals, never exits.
 */
#ifndef GPUSHARE_PTX_TRANSFORM_H
#define GPUSHARE_PTX_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Behind the original name: the transformed twin's. */
#define PTX_PERSISTENT_SUFFIX "__gpushare_p"

enum ptx_form {
	PTX_FORM_AS_IS,      /* original only: held at launch boundaries */
	PTX_FORM_PERSISTENT,
	PTX_FORM_COUNT
};

/* Why a kernel stays as it is: PTX_REASON(NAME, "words"). */
enum ptx_reason {
#define PTX_REASON(name, words) PTX_REASON_##name,
#include "device/ptx/reasons.def"
#undef PTX_REASON
	PTX_REASON_COUNT
};

const char *ptx_form_name(enum ptx_form form);       /* "persistent" */
const char *ptx_reason_words(enum ptx_reason reason); /* "uses thread-block clusters" */
const char *ptx_reason_name(enum ptx_reason reason);  /* "CLUSTER" */

struct ptx_kernel {
	char *name;             /* the entry's, as in the module */
	enum ptx_form form;
	enum ptx_reason reason; /* NONE unless the form is AS_IS */
	uint32_t reason_line;   /* where in the text, 0 if nowhere */
	uint32_t nparam;        /* of the original */
	uint32_t *param_offset; /* byte offset of each in the parameter block */
	uint32_t *param_size;   /* bytes */
	uint32_t ctl_offset;    /* of the added parameter, the gs_ctl's address */
	uint32_t static_shared; /* bytes declared by the original, an upper bound */
	uint8_t uses_barrier;
	uint8_t sync_aware;     /* the twin's barriers also count threads that are done: they cost more */
	uint8_t whole_warps;    /* launch the twin only if the block is one row of threads
				 * (blockDim.y == blockDim.z == 1) or blockDim.x is a multiple of 32;
				 * otherwise lanes of a warp may part that were taken to stay together */
};

struct ptx_transformed {
	char *text;             /* NUL-terminated; len without the NUL */
	size_t len;
	struct ptx_kernel *kernel;
	uint32_t nkernel;
};

/*
 * Transform every entry that allows it.  Returns NULL with "line N: reason"
 * when the text cannot be parsed at all; a kernel that cannot be transformed
 * is no error.
 */
struct ptx_transformed *ptx_transform(const char *text, size_t len, struct gs_error *err);
void ptx_transformed_free(struct ptx_transformed *t); /* NULL is fine */

#endif
