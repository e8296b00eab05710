/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether and how an entry gets a form. */
#ifndef GPUSHARE_PTX_PLAN_H
#define GPUSHARE_PTX_PLAN_H

#include "device/ptx/facts.h"

/* Static shared memory of a variant that claims, beside the original's: variant_persistent.c has
 * the layout.
 */
#define PTX_SLOT_BYTES 112u
#define PTX_SLOT_ALIGN 16u

struct ptx_plan {
	enum ptx_transform_kind transform;
	struct ptx_refusal why_not;
	uint8_t sync_aware;     /* threads that are done answer the barriers of the others */
	uint8_t reduces;        /* ... and the body has reductions over the block */
	uint8_t barrier;        /* number of the boundary's barrier */
	uint8_t meet_each_task; /* shared memory or barriers: no thread may run ahead */
	uint8_t wait_copies;    /* the body issues cp.async */
	uint8_t wait_surfaces;  /* the body writes surfaces */
	uint8_t whole_warps;
	uint32_t ctl_offset, static_shared;
};

/* Byte offset behind the parameters, and the offset of each (offset[] of f->nparam, may be NULL).
 */
uint64_t ptx_param_layout(const struct ptx_func *f, uint32_t *offset);

/* May the entry have the form, any but AS_IS, and if so, how? */
void ptx_plan_entry(struct ptx_plan *plan, const struct ptx_analysis *a, uint32_t func,
		    enum ptx_transform_kind transform);

#endif
