/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An opcode taken apart: base, types, rounding, space; the rest stays as tokens for the family. */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/decode.h"

static const struct {
	const char *name;
	enum ptx_type type;
} types[] = {
	{ "pred", PTX_T_PRED }, { "b8", PTX_T_B8 },         { "b16", PTX_T_B16 },
	{ "b32", PTX_T_B32 },   { "b64", PTX_T_B64 },       { "u8", PTX_T_U8 },
	{ "u16", PTX_T_U16 },   { "u32", PTX_T_U32 },       { "u64", PTX_T_U64 },
	{ "s8", PTX_T_S8 },     { "s16", PTX_T_S16 },       { "s32", PTX_T_S32 },
	{ "s64", PTX_T_S64 },   { "f16", PTX_T_F16 },       { "f16x2", PTX_T_F16X2 },
	{ "bf16", PTX_T_BF16 }, { "bf16x2", PTX_T_BF16X2 }, { "f32", PTX_T_F32 },
	{ "f64", PTX_T_F64 },   { "b128", PTX_T_B128 },
};

static const struct {
	const char *name;
	enum emu_rounding r;
	int integral;
} roundings[] = {
	{ "rn", EMU_RN, 0 },  { "rz", EMU_RZ, 0 },   { "rm", EMU_RM, 0 },
	{ "rp", EMU_RP, 0 },  { "rna", EMU_RNA, 0 }, { "rni", EMU_RN, 1 },
	{ "rzi", EMU_RZ, 1 }, { "rmi", EMU_RM, 1 },  { "rpi", EMU_RP, 1 },
};

static const struct {
	const char *name;
	enum ptx_space space;
} spaces[] = {
	{ "global", PTX_SPACE_GLOBAL },      { "shared", PTX_SPACE_SHARED },
	{ "shared::cta", PTX_SPACE_SHARED }, { "local", PTX_SPACE_LOCAL },
	{ "const", PTX_SPACE_CONST },        { "param", PTX_SPACE_PARAM },
	{ "param::entry", PTX_SPACE_PARAM }, { "param::func", PTX_SPACE_PARAM },
};

static int known(struct mods *m, const char *t)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(t, types[i].name) == 0 && m->ntype < 4) {
			m->type[m->ntype++] = types[i].type;
			return 1;
		}
	}
	for (size_t i = 0; i < sizeof(roundings) / sizeof(roundings[0]); i++) {
		if (strcmp(t, roundings[i].name) == 0) {
			m->rounding = roundings[i].r;
			m->integral = (uint8_t)roundings[i].integral;
			m->has_rounding = 1;
			return 1;
		}
	}
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		if (strcmp(t, spaces[i].name) == 0 && !m->has_space) {
			m->space = spaces[i].space;
			m->has_space = 1;
			return 1;
		}
	}
	if (strcmp(t, "ftz") == 0)
		return m->ftz = 1;
	if (strcmp(t, "sat") == 0)
		return m->sat = 1;
	/* accuracy hints: the result is the correctly rounded one in any case */
	if (strcmp(t, "approx") == 0 || strcmp(t, "full") == 0 || strcmp(t, "uni") == 0)
		return 1;
	if (strcmp(t, "v2") == 0 || strcmp(t, "v4") == 0 || strcmp(t, "v8") == 0) {
		m->vec = (uint8_t)(t[1] - '0');
		return 1;
	}
	return 0;
}

int decode_mods(struct decoder *d, struct ptx_slice op, struct mods *m)
{
	uint32_t at = 0;
	int first = 1;

	memset(m, 0, sizeof(*m));
	m->vec = 1;
	while (at < op.len) {
		char t[32];
		uint32_t n = 0;

		while (at < op.len && op.s[at] != '.') {
			if (n + 1 < sizeof(t))
				t[n++] = op.s[at];
			at++;
		}
		t[n] = '\0';
		at++;
		if (first) {
			memcpy(m->base, t, n < sizeof(m->base) ? n : sizeof(m->base) - 1);
			first = 0;
		} else if (!known(m, t)) {
			if (m->ntoken == TOKENS)
				return decode_fail(d, "unknown instruction %.*s", (int)op.len,
						   op.s);
			memcpy(m->token[m->ntoken++], t, n + 1);
		}
	}
	return 0;
}

int decode_has(struct mods *m, const char *token)
{
	for (uint32_t i = 0; i < m->ntoken; i++) {
		if (strcmp(m->token[i], token) == 0) {
			memmove(m->token[i], m->token[i + 1],
				(m->ntoken - i - 1) * sizeof(m->token[0]));
			m->ntoken--;
			return 1;
		}
	}
	return 0;
}

void decode_ignore(struct mods *m, const char *const *tokens)
{
	for (; *tokens; tokens++)
		decode_has(m, *tokens);
}

uint32_t decode_bits(enum ptx_type t)
{
	switch (t) {
	case PTX_T_B8:
	case PTX_T_U8:
	case PTX_T_S8:
		return 8;
	case PTX_T_B16:
	case PTX_T_U16:
	case PTX_T_S16:
	case PTX_T_F16:
	case PTX_T_BF16:
		return 16;
	case PTX_T_B64:
	case PTX_T_U64:
	case PTX_T_S64:
	case PTX_T_F64:
		return 64;
	case PTX_T_TEXREF:
	case PTX_T_SAMPLERREF:
	case PTX_T_SURFREF:
		return 64;
	case PTX_T_B128:
		return 128;
	case PTX_T_PRED:
	case PTX_T_NONE:
		return 0;
	default:
		return 32;
	}
}

int decode_is_float(enum ptx_type t)
{
	return t >= PTX_T_F16 && t <= PTX_T_F64;
}
