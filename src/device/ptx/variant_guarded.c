/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guarded variant: thread 0 of each block reads the limit and claims one
 * block-task, and the block runs it or leaves (ctl.h).  The body keeps its own
 * exits: the GPU drops exited threads from later barriers and warp-wide
 * instructions, and nothing done in software does the same for single lanes
 * (plan.c, check_meetings).  So no thread of the block can be relied on to
 * see its end, and an entry of its own, behind it in the stream, reports that.
 *
 * The words in shared memory are those of variant.c; used here are the first slot
 * and 32, 36 and 48.
 */
#define _GNU_SOURCE
#include "device/ptx/variant.h"

static const char declarations[] = "\n\t.reg .pred %__gpushare_p, %__gpushare_q;\n"
				   "\t.reg .b32 %__gpushare_r<7>;\n"
				   "\t.reg .b32 %__gpushare_x, %__gpushare_y, %__gpushare_z;\n"
				   "\t.reg .b32 %__gpushare_nx, %__gpushare_ny, %__gpushare_nz;\n"
				   "\t.reg .b64 %__gpushare_ctl, %__gpushare_d<4>;\n"
				   "\t.shared .align 16 .b8 __gpushare_slot[64];\n";

/* All loads at once: an entry waits for them, then for the atomic, and for nothing else. */
static const char entry_code[] = PTX_NOT_THREAD_0
	"\t@%__gpushare_q bra $__gpushare_meet;\n" PTX_LOAD_CTL
	"\tld.global.u64 %__gpushare_d2, [%__gpushare_ctl+80];\n"
	"\tld.global.v2.u32 {%__gpushare_r0, %__gpushare_r1}, [%__gpushare_ctl+88];\n"
	"\t$L.u32 %__gpushare_r5, [%__gpushare_ctl+64];\n"
	"\tst.shared.v2.u32 [__gpushare_slot+32], {%__gpushare_r0, %__gpushare_r1};\n"
	"\tst.shared.u64 [__gpushare_slot+48], %__gpushare_d2;\n" PTX_TELL_STARTED;

static const char claim_code[] =
	"$__gpushare_claim:\n"
	"\tmov.u32 %__gpushare_r0, 0;\n"
	"\tmov.u32 %__gpushare_r1, 0;\n"
	"\tmov.u32 %__gpushare_r2, 0;\n"
	"\tmov.u32 %__gpushare_r3, 0;\n"
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r5, 0;\n"
	"\t@%__gpushare_q bra $__gpushare_publish;\n"
	"\tatom.global.add.u64 %__gpushare_d0, [%__gpushare_ctl], 1;\n"
	"\tsetp.ge.u64 %__gpushare_q, %__gpushare_d0, %__gpushare_d2;\n"
	"\t@%__gpushare_q bra $__gpushare_publish;\n"
	"\tmov.u32 %__gpushare_r3, 1;\n"
	"\tmov.b64 {%__gpushare_r0, %__gpushare_r6}, %__gpushare_d0;\n"
	"\tld.shared.u32 %__gpushare_r4, [__gpushare_slot+32];\n"
	"\tcvt.u64.u32 %__gpushare_d1, %__gpushare_r4;\n"
	"\tsetp.lt.u64 %__gpushare_q, %__gpushare_d0, %__gpushare_d1;\n"
	"\t@%__gpushare_q bra $__gpushare_publish;\n"; /* the first row, or the only one: no
							  division */

/* Whoever is not told of a block-task leaves at once. */
static const char publish_code[] =
	"$__gpushare_publish:\n"
	"\tst.shared.v4.u32 [__gpushare_slot], {%__gpushare_r0, %__gpushare_r1, %__gpushare_r2, %__gpushare_r3};\n"
	"$__gpushare_meet:\n"
	"\tbar.warp.sync 0xffffffff;\n"
	"\tbarrier.sync 0;\n"
	"\tld.shared.v4.u32 {%__gpushare_x, %__gpushare_y, %__gpushare_z, %__gpushare_r3}, [__gpushare_slot];\n"
	"\tsetp.eq.u32 %__gpushare_p, %__gpushare_r3, 0;\n"
	"\t@%__gpushare_p exit;\n";

void ptx_variant_guarded(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			 const struct ptx_plan *plan)
{
	const struct ptx_module *m = a->module;
	const struct ptx_func *f = &m->func[func];

	ptx_put_head(out, a, f, PTX_TRANSFORM_GUARDED);
	ptx_out_str(out, declarations);
	ptx_put_code(out, entry_code, a->sm, "");
	ptx_put_code(out, ptx_proxy_code, a->sm, "");
	ptx_put_code(out, ptx_watched_code, a->sm, "");
	ptx_put_code(out, claim_code, a->sm, "");
	ptx_put_code(out, ptx_decode_code, a->sm, "");
	ptx_put_code(out, publish_code, a->sm, "");
	ptx_rewrite_body(out, a, func, plan);
	ptx_out_str(out, "}\n");
}

static const char end_code[] =
	"\n.weak .entry " PTX_END_ENTRY "(\n"
	"\t.param .u64 __gpushare_ctl\n"
	")\n{\n"
	"\t.reg .pred %__gpushare_p, %__gpushare_q;\n"
	"\t.reg .b32 %__gpushare_r<6>;\n"
	"\t.reg .b64 %__gpushare_ctl, %__gpushare_d<4>;\n" PTX_LOAD_CTL PTX_REPORT "}\n";

void ptx_put_end_entry(struct ptx_out *out, const struct ptx_analysis *a)
{
	ptx_put_code(out, end_code, a->sm, "");
}
