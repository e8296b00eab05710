/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a twin entry. */
#ifndef GPUSHARE_PTX_TWIN_H
#define GPUSHARE_PTX_TWIN_H

#include "device/ptx/out.h"
#include "device/ptx/plan.h"

/* Append the persistent twin of the entry. */
void ptx_twin_persistent(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			 const struct ptx_plan *plan);

/* The entry's body with its edits: see rewrite.c. */
void ptx_rewrite_body(struct ptx_out *out, const struct ptx_module *m, const struct ptx_func *f,
		      const struct ptx_plan *plan);

/* Zero the count of the round after the next, into registers r1 and r2. */
void ptx_put_clear_count(struct ptx_out *out);

#endif
