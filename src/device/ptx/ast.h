/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parsed PTX module: what the transformer edits and the emulated device
 * executes.  Everything is a slice of the module's text plus what the parser
 * made of it; nodes live in one arena and die with the module.
 *
 * The parser keeps byte offsets, so a transformer works by edits of the
 * source: text that nobody understood passes through untouched.
 * PTX ISA sections are cited where a rule comes from.
 */
#ifndef GPUSHARE_PTX_AST_H
#define GPUSHARE_PTX_AST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/error.h"

/* Part of the module's text; not NUL-terminated. */
struct ptx_slice {
	const char *s;
	uint32_t len;
};

/* Bytes [begin, end) of the text; line counts from 1. */
struct ptx_span {
	uint32_t begin, end;
	uint32_t line;
};

enum ptx_operand_kind {
	PTX_OPD_REG,   /* a declared register: name */
	PTX_OPD_SREG,  /* a special register: name "%ctaid", comp ".x" or "" (PTX ISA, "Special
			  Registers") */
	PTX_OPD_INT,   /* integer constant: bits (sign-extended to 64) */
	PTX_OPD_FLOAT, /* 0f........: bits = 32-bit pattern, single = 1; 0d... or decimal: bits =
			  64-bit pattern */
	PTX_OPD_SYM,   /* variable, function or label, with `bits` = byte offset added (var+8) */
	PTX_OPD_ADDR,  /* [base+off]: sub[0] is REG, SYM or INT, bits = offset; for tex: sub[0] =
			  sym, sub[1] = coordinates;  arr[i]: sub[0] = sym, sub[1] = INT i, elements
			*/
	PTX_OPD_VEC,   /* {a, b, ...}: sub */
	PTX_OPD_LIST,  /* (a, b, ...) of call: sub */
	PTX_OPD_PAIR,  /* p|q: sub[0], sub[1] */
	PTX_OPD_SINK,  /* _ */
};

/* There are millions in a large module, and touching memory is most of what one costs: 48 bytes. */
struct ptx_operand {
	uint8_t kind;    /* enum ptx_operand_kind */
	uint8_t negated; /* !p or -r */
	uint8_t single;  /* FLOAT: bits is a 32-bit pattern */
	uint16_t scope;  /* REG: of its declaration; tells registers of one name apart: 0 the
			  * function's own, then each { } in the order of the text (65535: beyond) */
	uint16_t ncomp;  /* length of the component behind the name; ptx_comp() */
	struct ptx_span span;
	uint32_t nsub;
	union {
		struct ptx_slice name;         /* REG, SREG, SYM; otherwise its length is 0 */
		const struct ptx_operand *sub; /* if nsub */
	};
	uint64_t bits; /* of a REG: its number among those of its function, noted by level.c */
};

enum ptx_space {
	PTX_SPACE_REG,
	PTX_SPACE_SREG,
	PTX_SPACE_CONST,
	PTX_SPACE_GLOBAL,
	PTX_SPACE_LOCAL,
	PTX_SPACE_PARAM,
	PTX_SPACE_SHARED,
	PTX_SPACE_TEX,
};

enum ptx_type { /* PTX ISA, "Fundamental Types" */
		PTX_T_NONE,
		PTX_T_PRED,
		PTX_T_B8,
		PTX_T_B16,
		PTX_T_B32,
		PTX_T_B64,
		PTX_T_B128,
		PTX_T_U8,
		PTX_T_U16,
		PTX_T_U32,
		PTX_T_U64,
		PTX_T_S8,
		PTX_T_S16,
		PTX_T_S32,
		PTX_T_S64,
		PTX_T_F16,
		PTX_T_F16X2,
		PTX_T_BF16,
		PTX_T_BF16X2,
		PTX_T_F32,
		PTX_T_F64,
		PTX_T_TEXREF,
		PTX_T_SAMPLERREF,
		PTX_T_SURFREF,
};

/* Size in bytes; 0 for PRED, NONE and opaque types. */
uint32_t ptx_type_size(enum ptx_type type);

static inline int ptx_is_signed(enum ptx_type t)
{
	return t == PTX_T_S8 || t == PTX_T_S16 || t == PTX_T_S32 || t == PTX_T_S64;
}

enum ptx_linkage {
	PTX_LINK_NONE,
	PTX_LINK_EXTERN,
	PTX_LINK_VISIBLE,
	PTX_LINK_WEAK,
	PTX_LINK_COMMON
};

/* A symbol's address inside an initialiser: `generic(sym)+addend` or `sym`. */
struct ptx_reloc {
	uint32_t offset; /* in the variable, bytes; the slot is of the element's size */
	struct ptx_slice symbol;
	uint64_t addend;
	uint64_t mask; /* 0: the whole address; 0xFF00(sym): that mask, the byte it selects is the
			  slot's */
	uint8_t generic;
};

struct ptx_var {
	struct ptx_span span;  /* the whole declaration; shared by the names of one declaration */
	struct ptx_slice name; /* of a range %r<10>: "%r" */
	enum ptx_linkage linkage;
	enum ptx_space space;
	enum ptx_type type;
	uint8_t vec;       /* 1, 2 or 4 */
	uint32_t align;    /* bytes; natural if not written */
	uint32_t range;    /* .reg .b32 %r<10>: 10; otherwise 0 */
	uint64_t elements; /* product of the dimensions; 1 for a scalar; 0: unsized array (x[]) */
	uint8_t is_array;
	uint8_t ptr_param;   /* .param .ptr */
	const uint8_t *init; /* initialiser, init_len bytes, the rest is zero; NULL: none */
	uint64_t init_len;
	const struct ptx_reloc *relocs;
	uint32_t nrelocs;
};

/* Bytes of the variable (vec and elements included). */
uint64_t ptx_var_size(const struct ptx_var *var);

struct ptx_insn {
	struct ptx_slice guard; /* @p: "p"; empty: none */
	uint8_t guard_negated : 1;
	uint8_t names_sreg : 1; /* an operand is a special register */
	uint8_t op;             /* enum ptx_op of the opcode (opcode.h) */
	uint16_t guard_scope;   /* as ptx_operand.scope */
	uint32_t nopd;          /* here it fits in a hole; a statement is one cache line */
	const struct ptx_operand *opd;
	struct ptx_slice opcode; /* whole, with modifiers: "ld.global.nc.v4.f32" */
};

enum ptx_stmt_kind {
	PTX_STMT_INSN,
	PTX_STMT_LABEL,
	PTX_STMT_DECL,
	PTX_STMT_OPEN,
	PTX_STMT_CLOSE,         /* { and } inside a body: a scope */
	PTX_STMT_BRANCHTARGETS, /* label: .branchtargets a, b; (also .calltargets) */
	PTX_STMT_CALLPROTOTYPE, /* label: .callprototype ...; */
	PTX_STMT_DIRECTIVE,     /* .loc, .pragma, ...: passes through */
};

struct ptx_stmt {
	enum ptx_stmt_kind kind;
	struct ptx_span span;
	union {
		struct ptx_insn insn;
		struct ptx_slice label;
		struct {
			const struct ptx_var *var;
			uint32_t n;
		} decl;
		struct {
			struct ptx_slice label;
			const struct ptx_slice *target;
			uint32_t n;
		} targets;
		struct {
			struct ptx_slice label;
			const struct ptx_var *ret;
			uint32_t nret;
			const struct ptx_var *param;
			uint32_t nparam;
		} proto;
		struct ptx_slice directive;
	};
};

/* What an entry's directives say of its launches. */
struct ptx_bounds {
	uint32_t maxntid[3], reqntid[3]; /* 0: not given */
	uint32_t minnctapersm, maxnreg;
	uint8_t has_cluster; /* .reqnctapercluster, .explicitcluster, .maxclusterrank */
};

struct ptx_func {
	struct ptx_slice name;
	uint8_t is_entry;
	uint8_t is_decl; /* no body: prototype or .extern */
	enum ptx_linkage linkage;
	struct ptx_span span; /* from the linkage directive to behind the closing brace or ';' */
	uint32_t params_begin,
		params_end; /* the text between ( and ) of the parameters; equal: none written */
	uint32_t body_begin, body_end; /* the braces: offset behind '{', offset of '}' */
	const struct ptx_var *ret;
	uint32_t nret;
	const struct ptx_var *param;
	uint32_t nparam;
	struct ptx_bounds bounds;
	uint8_t noreturn;
	const struct ptx_stmt *stmt;
	uint32_t nstmt;
};

struct ptx_module {
	const char *text;
	uint32_t len;
	uint32_t version_major, version_minor;
	struct ptx_slice target; /* "sm_75", with its options */
	uint32_t address_size;   /* 64, or 32 */
	const struct ptx_var *var;
	uint32_t nvar;
	const struct ptx_func *func;
	uint32_t nfunc;
};

/*
 * Parse len bytes of PTX (a trailing NUL is fine; at most 2 GiB).  The text
 * must outlive the module.  Bounded in time and memory by the text's length;
 * never exits.  Returns NULL with "line N: reason" in err.
 */
struct ptx_module *ptx_parse(const char *text, size_t len, struct gs_error *err);
void ptx_module_free(struct ptx_module *module); /* NULL is fine */

/* Slice helpers. */
static inline int ptx_starts(struct ptx_slice s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && memcmp(s.s, prefix, n) == 0;
}

static inline int ptx_is(struct ptx_slice s, const char *text)
{
	return s.len == strlen(text) && ptx_starts(s, text);
}

static inline int ptx_same(struct ptx_slice a, struct ptx_slice b)
{
	return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* ".x" of %ctaid.x, ".h1" of a register; empty: none. */
static inline struct ptx_slice ptx_comp(const struct ptx_operand *o)
{
	struct ptx_slice comp = { "", 0 };

	if (o->ncomp) {
		comp.s = o->name.s + o->name.len;
		comp.len = o->ncomp;
	}
	return comp;
}

#endif
