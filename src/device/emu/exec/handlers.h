/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the decoder knows of the handlers: the table made of alu.def, and the
 * handlers of the families that are decoded by hand.
 */
#ifndef GPUSHARE_EMU_HANDLERS_H
#define GPUSHARE_EMU_HANDLERS_H

#include "device/emu/exec/ir.h"

/* How a lane of an operand is read or written. */
enum emu_kind {
	EMU_K_NONE,
	EMU_K_PRED,
	EMU_K_U16,
	EMU_K_S16,
	EMU_K_U32,
	EMU_K_S32,
	EMU_K_U64,
	EMU_K_S64,
	EMU_K_F32,
	EMU_K_F64,
	EMU_K_F16,
	EMU_K_BF16,
};

struct emu_alu {
	const char *key;
	uint32_t types;  /* 1 << enum ptx_type */
	uint8_t kind[4]; /* d, a, b, c */
	emu_handler *fn;
};

extern const struct emu_alu emu_alu_table[];
extern const unsigned int emu_alu_count;

/* Runs op->inner with the operation's rounding mode, .ftz and .sat. */
emu_handler emu_h_env;

/* Extended precision: carry in PRED(extra[0]); sub: 1 reads it, 2 writes it, both 3. */
emu_handler emu_h_addc32, emu_h_addc64, emu_h_subc32, emu_h_subc64;
emu_handler emu_h_madc_lo32, emu_h_madc_hi32, emu_h_madc_lo64, emu_h_madc_hi64;
emu_handler emu_h_bfi32, emu_h_bfi64, emu_h_lop3;

/* setp/set: type, sub = enum emu_cmp; boolop 0 none, 1 and, 2 or, 3 xor with predicate s[2]
 * (negated: flags bit 0). */
enum emu_cmp {
	EMU_EQ,
	EMU_NE,
	EMU_LT,
	EMU_LE,
	EMU_GT,
	EMU_GE,
	EMU_EQU,
	EMU_NEU,
	EMU_LTU,
	EMU_LEU,
	EMU_GTU,
	EMU_GEU,
	EMU_NUM,
	EMU_NAN,
};
emu_handler emu_h_setp, emu_h_set, emu_h_testp;

/* cvt: type = source, wide = enum ptx_type of the destination. */
emu_handler emu_h_cvt, emu_h_cvt_pack2;
/* cvt_small.c: tf32; e4m3 and e5m2 (size: exponent bits); packed integers. */
emu_handler emu_h_cvt_tf32, emu_h_cvt_small_f32, emu_h_cvt_small_half, emu_h_cvt_half_small,
	emu_h_cvt_pack_int;
/* A row to a row of another width: sub 0 zero-extends or truncates, 1 sign-extends from type. */
emu_handler emu_h_widen, emu_h_narrow;
/* mov of packed vectors: extra[] = elements. */
emu_handler emu_h_pack, emu_h_unpack;
emu_handler emu_h_sreg, emu_h_frame_address, emu_h_cvta, emu_h_isspacep, emu_h_not_mask;

emu_handler emu_h_ld, emu_h_st, emu_h_ld_fast32, emu_h_st_fast32, emu_h_ld_param, emu_h_atom,
	emu_h_atom128, emu_h_fence, emu_h_nop;
enum emu_atom {
	EMU_A_ADD,
	EMU_A_AND,
	EMU_A_OR,
	EMU_A_XOR,
	EMU_A_MIN,
	EMU_A_MAX,
	EMU_A_EXCH,
	EMU_A_CAS,
	EMU_A_INC,
	EMU_A_DEC,
};
emu_handler emu_h_cp_async, emu_h_bulk_copy, emu_h_discard;

/* imm: bytes of the function's local frame (set at its end); alloca: s[0] the size, target the
 * alignment. */
emu_handler emu_h_alloca, emu_h_stacksave, emu_h_stackrestore;
emu_handler emu_h_mbarrier, emu_h_mbarrier_test, emu_h_mbarrier_pending;
enum emu_mbarrier {
	EMU_MB_INIT,
	EMU_MB_ARRIVE,
	EMU_MB_DROP,
	EMU_MB_ARRIVE_TX,
	EMU_MB_EXPECT_TX,
	EMU_MB_COMPLETE_TX
};
emu_handler emu_h_mma, emu_h_wmma_memory, emu_h_ldmatrix, emu_h_movmatrix; /* mma.h */
/* Textures and surfaces; EMU_SURF_*: an access out of bounds. */
emu_handler emu_h_tex, emu_h_suld, emu_h_sust, emu_h_txq;
enum emu_surface { EMU_SURF_TRAP, EMU_SURF_CLAMP, EMU_SURF_ZERO };
emu_handler emu_h_video, emu_h_video_simd, emu_h_vmad; /* video.h */
emu_handler emu_h_shfl, emu_h_vote, emu_h_match, emu_h_redux, emu_h_activemask, emu_h_elect;
enum emu_vote { EMU_V_ALL, EMU_V_ANY, EMU_V_UNI, EMU_V_BALLOT };
enum emu_shfl { EMU_SH_UP, EMU_SH_DOWN, EMU_SH_BFLY, EMU_SH_IDX };

emu_handler emu_h_vprintf, emu_h_assertfail, emu_h_malloc, emu_h_free, emu_h_nanosleep,
	emu_h_vprintf;

/* Special registers: op->sub. */
enum emu_sreg {
#define S(id, name, wide, expr) EMU_SR_##id,
#include "device/emu/exec/sregs.def"
#undef S
	EMU_SR_COUNT
};

#endif
