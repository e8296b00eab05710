/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sliced variant (GPES, section IV-A): the block's index in the launch,
 * moved by the slice's first block-task, is its block-task (slice.h).  Nothing
 * is shared between blocks and nothing is carried over, so that any state of
 * a block and any way out of it stay as they are.
 */
#define _GNU_SOURCE
#include "device/ptx/slice.h"
#include "device/ptx/variant.h"

_Static_assert(sizeof(struct gs_slice) == 24 && offsetof(struct gs_slice, nctaid) == 12,
	       "the offsets below");

static const char declarations[] = "\n\t.reg .pred %__gpushare_p;\n"
				   "\t.reg .b32 %__gpushare_r<3>;\n"
				   "\t.reg .b32 %__gpushare_x, %__gpushare_y, %__gpushare_z;\n"
				   "\t.reg .b32 %__gpushare_nx, %__gpushare_ny, %__gpushare_nz;\n";

/* Past the end of a row the index wraps into y, past the end of a plane into z. */
static const char index_code[] = "\tld.param.u32 %__gpushare_x, [__gpushare_slice];\n"
				 "\tld.param.u32 %__gpushare_y, [__gpushare_slice+4];\n"
				 "\tld.param.u32 %__gpushare_z, [__gpushare_slice+8];\n"
				 "\tld.param.u32 %__gpushare_r1, [__gpushare_slice+12];\n"
				 "\tmov.u32 %__gpushare_r0, %ctaid.x;\n"
				 "\tadd.u32 %__gpushare_x, %__gpushare_x, %__gpushare_r0;\n"
				 "\tsetp.lt.u32 %__gpushare_p, %__gpushare_x, %__gpushare_r1;\n"
				 "\t@%__gpushare_p bra $__gpushare_body;\n"
				 "\tdiv.u32 %__gpushare_r2, %__gpushare_x, %__gpushare_r1;\n"
				 "\tmul.lo.u32 %__gpushare_r0, %__gpushare_r2, %__gpushare_r1;\n"
				 "\tsub.u32 %__gpushare_x, %__gpushare_x, %__gpushare_r0;\n"
				 "\tadd.u32 %__gpushare_y, %__gpushare_y, %__gpushare_r2;\n"
				 "\tld.param.u32 %__gpushare_r1, [__gpushare_slice+16];\n"
				 "\tdiv.u32 %__gpushare_r2, %__gpushare_y, %__gpushare_r1;\n"
				 "\tmul.lo.u32 %__gpushare_r0, %__gpushare_r2, %__gpushare_r1;\n"
				 "\tsub.u32 %__gpushare_y, %__gpushare_y, %__gpushare_r0;\n"
				 "\tadd.u32 %__gpushare_z, %__gpushare_z, %__gpushare_r2;\n"
				 "$__gpushare_body:\n";

void ptx_variant_sliced(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			const struct ptx_plan *plan)
{
	const struct ptx_module *m = a->module;
	const struct ptx_func *f = &m->func[func];

	ptx_put_head(out, a, f, PTX_TRANSFORM_SLICED);
	ptx_out_str(out, declarations);
	if (a->func[func].index & PTX_INDEX_TASK)
		ptx_put_code(out, index_code, a->sm, "");
	ptx_rewrite_body(out, a, func, plan);
	ptx_out_str(out, "}\n");
}
