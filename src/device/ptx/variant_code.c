/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that the forms have in common; see variant.h. */
#define _GNU_SOURCE
#include "device/ptx/ctl.h"
#include "device/ptx/slot_layout.h"
#include "device/ptx/variant.h"

#include <string.h>

_Static_assert(
	offsetof(struct gs_ctl, next) == 0 && offsetof(struct gs_ctl, exited) == 8 &&
		offsetof(struct gs_ctl, saved) == 16 && offsetof(struct gs_ctl, limit) == 64 &&
		offsetof(struct gs_ctl, chunk) == 68 && offsetof(struct gs_ctl, chunk_max) == 72 &&
		offsetof(struct gs_ctl, chunk_ns) == 76 && offsetof(struct gs_ctl, total) == 80 &&
		offsetof(struct gs_ctl, nctaid) == 88 && offsetof(struct gs_ctl, workers) == 100 &&
		offsetof(struct gs_ctl, slot) == 104 && offsetof(struct gs_ctl, done) == 112 &&
		offsetof(struct gs_ctl, proxy) == 116 && offsetof(struct gs_ctl, rearm) == 120 &&
		offsetof(struct gs_ctl, stay_at) == 124 && GS_CTL_PARTS == 1024,
	"the offsets below");
_Static_assert(PTX_SLOT_STATE == 0 && PTX_SLOT_STARTED == 4 && PTX_SLOT_DONE == 8 &&
		       PTX_STATE_READY == 1 && PTX_STATE_TOEVICT == 4 && PTX_STATE_DONE == 5,
	       "the numbers below");

/*
 * Worker 0 as the proxy (ctl.h).  It publishes an empty claim when it is done,
 * so its other threads, which wait at the meeting all the while, leave with it.
 * The loads go out together: the one over the bus takes longer than the others.  (Two of that one
 * on the way, one half as long behind the other, made an eviction up to 1 us longer:
 * doc/measurements/h200-eviction-parts.csv.)
 */
const char ptx_proxy_code[] =
	"$__gpushare_watch:\n"
	"\t$L.u32 %__gpushare_r0, [%__gpushare_d0];\n"
	"\t$L.u64 %__gpushare_d1, [%__gpushare_ctl];\n"
	"\t$L.u32 %__gpushare_r1, [%__gpushare_ctl+8];\n"
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r0, 4;\n"
	"\t@%__gpushare_q bra $__gpushare_tell;\n"
	"\tld.shared.u64 %__gpushare_d2, [__gpushare_slot+48];\n"
	"\tsetp.ge.u64 %__gpushare_q, %__gpushare_d1, %__gpushare_d2;\n"
	"\t@%__gpushare_q bra $__gpushare_watched;\n"
	"\tld.global.u32 %__gpushare_r2, [%__gpushare_ctl+100];\n"
	"\tadd.u32 %__gpushare_r1, %__gpushare_r1, 1;\n"
	"\tsetp.ge.u32 %__gpushare_q, %__gpushare_r1, %__gpushare_r2;\n"
	"\t@%__gpushare_q bra $__gpushare_watched;\n"
	"$P"
	"\tbra $__gpushare_watch;\n"
	"$__gpushare_tell:\n"
	"\tmov.u32 %__gpushare_r0, 0;\n"
	"\t$S.u32 [%__gpushare_ctl+64], %__gpushare_r0;\n"
	"\tmov.u64 %__gpushare_d1, 0x4000000000000000;\n"
	"\tatom.global.exch.b64 %__gpushare_d1, [%__gpushare_ctl], %__gpushare_d1;\n"
	"\t$S.u64 [%__gpushare_ctl+16], %__gpushare_d1;\n";

const char ptx_watched_code[] = "$__gpushare_watched:\n"
				"\tmov.u32 %__gpushare_r0, 0;\n"
				"\tmov.u32 %__gpushare_r1, 0;\n"
				"\tmov.u32 %__gpushare_r2, 0;\n"
				"\tmov.u32 %__gpushare_r3, 0;\n"
				"\tbra $__gpushare_publish;\n";

/*
 * The claim's first index to x, y, z.  index / nctaid.x is below 2^32, so
 * beyond 32 bits a long division of 32 steps will do; it takes two registers.
 */
const char ptx_decode_code[] =
	"\tmov.u32 %__gpushare_r2, %__gpushare_r0;\n"
	"\tsetp.ne.u32 %__gpushare_q, %__gpushare_r6, 0;\n"
	"\t@%__gpushare_q bra $__gpushare_far;\n"
	"\tdiv.u32 %__gpushare_r2, %__gpushare_r0, %__gpushare_r4;\n"
	"\tmul.lo.u32 %__gpushare_r1, %__gpushare_r2, %__gpushare_r4;\n"
	"\tsub.u32 %__gpushare_r0, %__gpushare_r0, %__gpushare_r1;\n"
	"\tbra $__gpushare_near;\n"
	"$__gpushare_far:\n"
	"\tmov.u32 %__gpushare_r0, %__gpushare_r6;\n"
	"\tmov.u32 %__gpushare_r5, 32;\n"
	"$__gpushare_digit:\n"
	"\tshr.u32 %__gpushare_r1, %__gpushare_r2, 31;\n"
	"\tshl.b32 %__gpushare_r0, %__gpushare_r0, 1;\n"
	"\tor.b32 %__gpushare_r0, %__gpushare_r0, %__gpushare_r1;\n"
	"\tshl.b32 %__gpushare_r2, %__gpushare_r2, 1;\n"
	"\tsetp.ge.u32 %__gpushare_q, %__gpushare_r0, %__gpushare_r4;\n"
	"\t@%__gpushare_q sub.u32 %__gpushare_r0, %__gpushare_r0, %__gpushare_r4;\n"
	"\t@%__gpushare_q or.b32 %__gpushare_r2, %__gpushare_r2, 1;\n"
	"\tsub.u32 %__gpushare_r5, %__gpushare_r5, 1;\n"
	"\tsetp.ne.u32 %__gpushare_q, %__gpushare_r5, 0;\n"
	"\t@%__gpushare_q bra $__gpushare_digit;\n"
	"$__gpushare_near:\n"
	"\tld.shared.u32 %__gpushare_r4, [__gpushare_slot+36];\n"
	"\trem.u32 %__gpushare_r1, %__gpushare_r2, %__gpushare_r4;\n"
	"\tdiv.u32 %__gpushare_r2, %__gpushare_r2, %__gpushare_r4;\n";

void ptx_put_code(struct ptx_out *out, const char *code, uint32_t sm, const char *more)
{
	const char *at;

	while ((at = strchr(code, '$'))) {
		ptx_out_put(out, code, (size_t)(at - code));
		code = at + 2;
		switch (at[1]) {
		case 'L':
			ptx_out_str(out, sm >= 70 ? "ld.relaxed.sys.global" : "ld.volatile.global");
			break;
		case 'S':
			ptx_out_str(out, sm >= 70 ? "st.relaxed.sys.global" : "st.volatile.global");
			break;
		case 'P':
			if (sm >= 70)
				ptx_out_str(out, "\tnanosleep.u32 100;\n");
			break;
		case 'M':
			ptx_out_str(out, more);
			break;
		default:
			ptx_out_put(out, at, 2);
		}
	}
	ptx_out_str(out, code);
}

void ptx_put_head(struct ptx_out *out, const struct ptx_analysis *a, const struct ptx_func *f,
		  enum ptx_transform_kind transform)
{
	const struct ptx_module *m = a->module;
	uint32_t name_end = (uint32_t)(f->name.s - m->text) + f->name.len;

	ptx_out_put(out, m->text + f->span.begin, name_end - f->span.begin);
	if (!a->alone)
		ptx_out_str(out, ptx_transform_suffix(transform));
	ptx_out_str(out, "(");
	if (f->nparam) {
		uint32_t end = f->param[f->nparam - 1].span.end; /* before any comment */

		ptx_out_put(out, m->text + f->params_begin, end - f->params_begin);
		ptx_out_str(out, ",");
	}
	ptx_out_str(out, transform == PTX_TRANSFORM_SLICED ?
				 "\n\t.param .align 8 .b8 __gpushare_slice[24]\n)" :
			 transform == PTX_TRANSFORM_GUARDED ?
				 "\n\t.param .align 8 .b8 __gpushare_guard[24]\n)" :
				 "\n\t.param .u64 __gpushare_ctl\n)");
	/* the performance directives: from behind the parameters to behind the body's brace */
	name_end = f->params_end;
	if (name_end < f->body_begin && m->text[name_end] == ')')
		name_end++;
	ptx_out_put(out, m->text + name_end, f->body_begin - name_end);
}
