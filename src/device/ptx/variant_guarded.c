/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guarded variant: the kernel as it is, with the guard of guard.h before its
 * first instruction.  Every block, its index and its exits are the original's, so
 * whatever state a block keeps in hardware begins and ends with it.
 *
 * Thread 0 asks, and a barrier tells the others.  It is the block's first, so its
 * number is free whatever the body does with it.
 */
#define _GNU_SOURCE
#include "device/ptx/guard.h"
#include "device/ptx/variant.h"

_Static_assert(GS_GUARD_LEAVE == 0x8000000000000000 && sizeof(struct gs_guard) == 24,
	       "the code below");

static const char declarations[] = "\n\t.reg .pred %__gpushare_p, %__gpushare_q;\n"
				   "\t.reg .b32 %__gpushare_r<5>;\n"
				   "\t.reg .b64 %__gpushare_d<5>;\n";

static const char guard_code[] =
	"\tld.param.u64 %__gpushare_d0, [__gpushare_guard];\n"
	"\tld.param.u64 %__gpushare_d1, [__gpushare_guard+8];\n"
	"\tcvta.to.global.u64 %__gpushare_d0, %__gpushare_d0;\n"
	"\tmov.u32 %__gpushare_r0, %ctaid.x;\n"
	"\tmov.u32 %__gpushare_r1, %ctaid.y;\n"
	"\tmov.u32 %__gpushare_r2, %ctaid.z;\n"
	"\tmov.u32 %__gpushare_r3, %nctaid.x;\n"
	"\tmov.u32 %__gpushare_r4, %nctaid.y;\n"
	"\tmad.lo.u32 %__gpushare_r1, %__gpushare_r2, %__gpushare_r4, %__gpushare_r1;\n"
	"\tcvt.u64.u32 %__gpushare_d2, %__gpushare_r0;\n"
	"\tmad.wide.u32 %__gpushare_d2, %__gpushare_r1, %__gpushare_r3, %__gpushare_d2;\n"
	"\tsetp.lt.u64 %__gpushare_p, %__gpushare_d2, %__gpushare_d1;\n"
	"\t@%__gpushare_p exit;\n" PTX_NOT_THREAD_0
	"\tsetp.ne.u32 %__gpushare_p, %__gpushare_r0, %__gpushare_r0;\n"
	"\t@%__gpushare_q bra $__gpushare_meet;\n"
	"\tadd.u64 %__gpushare_d3, %__gpushare_d2, 1;\n"
	"\tatom.global.max.u64 %__gpushare_d4, [%__gpushare_d0], %__gpushare_d3;\n"
	"\txor.b64 %__gpushare_d4, %__gpushare_d4, 0x8000000000000000;\n"
	"\tsetp.lt.u64 %__gpushare_p, %__gpushare_d4, %__gpushare_d3;\n"
	"$__gpushare_meet:\n"
	"\tbar.warp.sync 0xffffffff;\n"
	"\tbarrier.red.or.pred %__gpushare_q, 0, %__gpushare_p;\n"
	"\t@%__gpushare_q exit;\n";

void ptx_variant_guarded(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			 const struct ptx_plan *plan)
{
	const struct ptx_module *m = a->module;
	const struct ptx_func *f = &m->func[func];

	(void)plan;
	ptx_put_head(out, a, f, PTX_TRANSFORM_GUARDED);
	ptx_out_str(out, declarations);
	ptx_put_code(out, guard_code, a->sm, "");
	ptx_out_put(out, m->text + f->body_begin, f->body_end - f->body_begin);
	ptx_out_str(out, "}\n");
}
