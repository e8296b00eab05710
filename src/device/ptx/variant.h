/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of variant entries: one function per form, and what they share.  Pieces
 * of code are strings in which $L and $S stand for a load and a store that
 * other processors see, $P for a pause, $M for a label given along.
 */
#ifndef GPUSHARE_PTX_VARIANT_H
#define GPUSHARE_PTX_VARIANT_H

#include "device/ptx/out.h"
#include "device/ptx/plan.h"

/* Append the entry's variant of the plan's form. */
void ptx_variant_persistent(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			    const struct ptx_plan *plan);
void ptx_variant_guarded(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			 const struct ptx_plan *plan);
void ptx_variant_sliced(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			const struct ptx_plan *plan);

/* The body of an entry or of a clone with its edits: see rewrite.c.  plan: NULL of a clone. */
void ptx_rewrite_body(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
		      const struct ptx_plan *plan);

/*
 * A function that reads the block's index is cloned: variants call the clone,
 * which has as further parameters what it needs (ptx_facts.index).  Append the
 * clone of the definition or declaration `func`.
 */
void ptx_put_clone(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func, uint8_t index);
#define PTX_CLONE_SUFFIX "__gpushare_i"

/* Zero the count of the round after the next, into registers r1 and r2. */
void ptx_put_clear_count(struct ptx_out *out);

/* The variant's head up to and with the body's brace. */
void ptx_put_head(struct ptx_out *out, const struct ptx_analysis *a, const struct ptx_func *f,
		  enum ptx_transform_kind transform);
void ptx_put_code(struct ptx_out *out, const char *code, uint32_t sm, const char *more);

/*
 * Pieces for variants with a control block.  They work on registers %__gpushare_r0
 * to r7, _d0 to _d3, _ctl, predicates _p and _q, and on the words of
 * __gpushare_slot at 32, 36 and 48 (variant.c has the layout).
 */
extern const char ptx_proxy_code[];   /* behind PTX_TELL_STARTED; ends when claims fail, with what
					 `next` was in d1 */
extern const char ptx_watched_code[]; /* the proxy leaves, by way of $__gpushare_publish */
extern const char ptx_decode_code[];  /* block-task r6:r0 to x, y, z in r0, r1, r2; r4: nctaid.x */

/* Predicate q: not thread 0. */
#define PTX_NOT_THREAD_0 \
	"\tmov.u32 %__gpushare_r0, %tid.x;\n" \
	"\tmov.u32 %__gpushare_r1, %tid.y;\n" \
	"\tor.b32 %__gpushare_r0, %__gpushare_r0, %__gpushare_r1;\n" \
	"\tmov.u32 %__gpushare_r1, %tid.z;\n" \
	"\tor.b32 %__gpushare_r0, %__gpushare_r0, %__gpushare_r1;\n" \
	"\tsetp.ne.u32 %__gpushare_q, %__gpushare_r0, 0;\n"

#define PTX_LOAD_CTL \
	"\tld.param.u64 %__gpushare_ctl, [__gpushare_ctl];\n" \
	"\tcvta.to.global.u64 %__gpushare_ctl, %__gpushare_ctl;\n"

/* Block 0 tells the slot that the launch has begun; if it is the proxy it goes on, all others
 * claim. */
#define PTX_TELL_STARTED \
	"\tmov.u32 %__gpushare_r0, %ctaid.x;\n" \
	"\tsetp.ne.u32 %__gpushare_q, %__gpushare_r0, 0;\n" \
	"\t@%__gpushare_q bra $__gpushare_claim;\n" \
	"\tld.global.u64 %__gpushare_d0, [%__gpushare_ctl+104];\n" \
	"\tsetp.eq.u64 %__gpushare_q, %__gpushare_d0, 0;\n" \
	"\t@%__gpushare_q bra $__gpushare_claim;\n" \
	"\tcvta.to.global.u64 %__gpushare_d0, %__gpushare_d0;\n" \
	"\tmov.u32 %__gpushare_r0, 1;\n" \
	"\t$S.u32 [%__gpushare_d0+4], %__gpushare_r0;\n" \
	"\tld.global.u32 %__gpushare_r0, [%__gpushare_ctl+116];\n" \
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r0, 0;\n" \
	"\t@%__gpushare_q bra $__gpushare_claim;\n"

/*
 * The last one out: READY or DONE for the slot, and the word that the stream
 * waits for (ctl.h).  State and N_t go to the host in one store, so
 * no fence is needed between them.
 */
#define PTX_REPORT \
	"\tmembar.gl;\n" \
	"\tld.global.u64 %__gpushare_d1, [%__gpushare_ctl+80];\n" \
	"\tld.global.u64 %__gpushare_d2, [%__gpushare_ctl+104];\n" \
	"\tld.global.v4.u32 {%__gpushare_r2, %__gpushare_r3, %__gpushare_r4, %__gpushare_r5}, [%__gpushare_ctl+112];\n" \
	"\t$L.u64 %__gpushare_d3, [%__gpushare_ctl+16];\n" \
	"\t$L.u64 %__gpushare_d0, [%__gpushare_ctl];\n" \
	"\tmov.u32 %__gpushare_r0, 0;\n" \
	"\tst.global.u32 [%__gpushare_ctl+8], %__gpushare_r0;\n" \
	"\tsetp.ne.u32 %__gpushare_q, %__gpushare_r3, 0;\n" \
	"\tmov.u32 %__gpushare_r1, 0xffffffff;\n" \
	"\t@%__gpushare_q st.global.u32 [%__gpushare_ctl+64], %__gpushare_r1;\n" \
	"\tsetp.ge.u64 %__gpushare_q, %__gpushare_d0, 0x4000000000000000;\n" \
	"\t@%__gpushare_q mov.u64 %__gpushare_d0, %__gpushare_d3;\n" \
	"\tmin.u64 %__gpushare_d0, %__gpushare_d0, %__gpushare_d1;\n" \
	"\t@%__gpushare_q st.global.u64 [%__gpushare_ctl], %__gpushare_d0;\n" \
	"\tsetp.lt.u64 %__gpushare_p, %__gpushare_d0, %__gpushare_d1;\n" \
	"\tmembar.sys;\n" \
	"\t@%__gpushare_p bra $__gpushare_left;\n" \
	"\tsetp.ne.u32 %__gpushare_q, %__gpushare_r4, 0;\n" \
	"\tmov.u64 %__gpushare_d3, 0;\n" \
	"\t@%__gpushare_q st.global.u64 [%__gpushare_ctl], %__gpushare_d3;\n" \
	"\tadd.u32 %__gpushare_r2, %__gpushare_r2, 1;\n" \
	"\t$S.u32 [%__gpushare_ctl+112], %__gpushare_r2;\n" \
	"\tmembar.gl;\n" \
	"$__gpushare_left:\n" \
	"\tsetp.eq.u64 %__gpushare_q, %__gpushare_d2, 0;\n" \
	"\t@%__gpushare_q bra $__gpushare_out;\n" \
	"\tcvta.to.global.u64 %__gpushare_d2, %__gpushare_d2;\n" \
	"\tselp.u32 %__gpushare_r0, 1, 5, %__gpushare_p;\n" \
	"\tmov.u32 %__gpushare_r1, 1;\n" \
	"\tmov.b64 {%__gpushare_r2, %__gpushare_r3}, %__gpushare_d0;\n" \
	"\t$S.v4.u32 [%__gpushare_d2], {%__gpushare_r0, %__gpushare_r1, %__gpushare_r2, %__gpushare_r3};\n" \
	"$__gpushare_out:\n" \
	"\tret;\n"

#endif
