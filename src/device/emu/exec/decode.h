/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoder's own state; only decode*.c include this. */
#ifndef GPUSHARE_EMU_DECODE_H
#define GPUSHARE_EMU_DECODE_H

#include "device/emu/exec/handlers.h"
#include "device/emu/exec/ir.h"

enum sym_kind { SYM_REG, SYM_LOCAL, SYM_SHARED, SYM_KPARAM, SYM_LABEL, SYM_TABLE, SYM_PROTO };

struct sym {
	struct ptx_slice name;
	uint32_t scope;
	uint32_t next; /* in the bucket; 0 ends */
	enum sym_kind kind;
	enum ptx_type type;
	uint32_t range;
	int32_t *row;   /* of each register of the range; EMU_NO_ROW until used */
	uint64_t value; /* offset, pc, index */
	uint64_t size;
	const struct ptx_stmt *stmt;
};

struct fixup {
	uint32_t op; /* operation, or table << 8 | 1 << 31 */
	struct ptx_slice label;
	uint32_t scope;
	uint32_t line;
	uint32_t slot; /* of a brx.idx table; UINT32_MAX: the operation's target */
	uint32_t table;
};

/* Jumps whose label was not known yet. */
struct fixups {
	struct fixup *fixup;
	uint32_t nfixup, capfixup;
};

struct shared_var {
	const struct ptx_var *var;
	uint32_t offset;
};

#define TOKENS 16
/* An opcode taken apart. */
struct mods {
	char base[24];
	char token[TOKENS][32]; /* what no common meaning was found for, in order */
	uint32_t ntoken;
	enum ptx_type type[4];
	uint32_t ntype;
	enum emu_rounding rounding;
	uint8_t has_rounding, integral, ftz, sat, relu, has_space, nc;
	enum ptx_space space;
	uint8_t vec;
};

/* The names that are known where the decoder is. */
struct symbols {
	struct sym *sym; /* [0] unused */
	uint32_t nsym, capsym;
	uint32_t bucket[1024];
	uint32_t *parent; /* of each scope */
	uint32_t nscope, capscope;
	uint32_t scope;
};

/* For how many there is memory in the lists of the program. */
struct room {
	uint32_t op, func, call, table, constant, lines, files, rows, mma;
};

/* The constant rows, so that each is there once. */
struct constants {
	struct {
		uint64_t bits;
		uint32_t wide;
		int32_t row;
	} * constant;
	uint32_t nconstant, capconstant;
};

struct decoder {
	const struct ptx_module *module;
	const struct emu_symbols *symbols;
	struct emu_program *program;
	struct gs_error *err;

	struct symbols names;
	struct room room;
	struct fixups fixups;
	struct shared_var *shared;
	uint32_t nshared, capshared;
	struct constants constants;

	/* of the function being decoded */
	struct emu_func *func;
	uint32_t func_index;
	uint32_t line;
	int32_t guard;
	uint8_t guard_negated;
	int32_t carry;    /* CC.CF; EMU_NO_ROW until used */
	int32_t temp[16]; /* 8-byte rows reused by every instruction */
	uint32_t ntemp;
};

/* decode_names.c */
void *emu_grow(void *p, uint32_t *cap, uint32_t need, size_t size);
int decode_fail(struct decoder *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct sym *decode_lookup(struct decoder *d, struct ptx_slice name, int *index);
struct sym *decode_declare(struct decoder *d, struct ptx_slice name, enum sym_kind kind);
const struct ptx_func *decode_find_func(const struct ptx_module *m, struct ptx_slice name,
					uint32_t *index);
int decode_add_fixup(struct decoder *d, uint32_t op, struct ptx_slice label, uint32_t table,
		     uint32_t slot);

/* decode_place.c */
const struct shared_var *decode_find_shared(struct decoder *d, struct ptx_slice name);
static inline uint64_t decode_align(uint64_t n, uint64_t a)
{
	return a ? (n + a - 1) / a * a : n;
}
int decode_use_shared(
	struct decoder *d,
	struct ptx_slice name);             /* a variable of the module's, if it is a shared one */
int decode_place_shared(struct decoder *d); /* once all functions are known */
int decode_declare_var(struct decoder *d, const struct ptx_var *v);
/* A function's formal parameters: their offsets in its local frame, or rows. */
int decode_formals(struct decoder *d, const struct ptx_var *v, uint32_t n, int32_t **at,
		   int32_t **row);
int decode_kernel_params(struct decoder *d, const struct ptx_func *f);

/* decode_lines.c: .loc, for the faults */
int decode_loc(struct decoder *d, struct ptx_slice directive);
int decode_loc_reset(struct decoder *d); /* a new function begins: no place in the source */

/* decode_operand.c */
struct emu_op *decode_emit(struct decoder *d, enum emu_class cls, emu_handler *fn);
int32_t decode_new_row(struct decoder *d, uint32_t bytes);
int32_t decode_temp(struct decoder *d);
/* Put rows into the program's list: where they begin, UINT32_MAX: no memory. */
uint32_t decode_rows(struct decoder *d, const int32_t *rows, uint32_t n);
int32_t decode_constant(struct decoder *d, uint64_t bits, int wide);
int decode_kind_wide(enum emu_kind kind); /* 0: 4 bytes a lane, 1: 8, 2: predicate */
enum emu_kind decode_type_kind(enum ptx_type type);
/* The register an operand names: its row, and its type; EMU_NO_ROW: it names none. */
int32_t decode_register(struct decoder *d, const struct ptx_operand *o, enum ptx_type *type);
/* A row to read the operand from as that kind; type decides what a literal means.  EMU_NO_ROW:
 * failed. */
int32_t decode_source(struct decoder *d, const struct ptx_operand *o, enum emu_kind kind,
		      enum ptx_type type);
/* A row to write; if the register is of another width, *fix is its row (otherwise EMU_NO_ROW). */
int32_t decode_dest(struct decoder *d, const struct ptx_operand *o, enum emu_kind kind,
		    int32_t *fix);
/* Emit what decode_dest asked for. */
int decode_fix(struct decoder *d, int32_t row, enum emu_kind kind, int32_t fix);
/* The address operand: fills s[0], imm and the address flags of the operation. */
int decode_address(struct decoder *d, const struct ptx_operand *o, enum emu_space *space,
		   struct emu_op *out);
/* A predicate source with its negation in *negated. */
int32_t decode_predicate(struct decoder *d, const struct ptx_operand *o, int *negated);

/* decode_mods.c */
int decode_mods(struct decoder *d, struct ptx_slice opcode, struct mods *m);
int decode_has(struct mods *m, const char *token); /* and consumes it */
void decode_ignore(struct mods *m, const char *const *tokens);
uint32_t decode_bits(enum ptx_type type);
int decode_is_float(enum ptx_type type);

/* families; 1: not mine, 0: done, -1: failed */
int decode_memory(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_control(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_sync(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_mbarrier(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_copy_arrive(struct decoder *d, const struct ptx_insn *in,
		       struct mods *m); /* cp.async.mbarrier.arrive */
int decode_bulk(struct decoder *d, const struct ptx_insn *in,
		struct mods *m); /* cp.async.bulk, not .tensor */
int decode_matrix(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_texture(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_video(struct decoder *d, const struct ptx_insn *in, struct mods *m);
/* The shape of most: d, then sources as one kind each; NULL: failed.  *fix as decode_dest has it.
 */
struct emu_op *decode_simple(struct decoder *d, const struct ptx_insn *in, emu_handler *fn,
			     enum emu_kind dk, const enum emu_kind *sk, uint32_t nsrc,
			     enum ptx_type type, int32_t *fix);
emu_handler *decode_handler(const char *key, enum ptx_type type); /* of alu.def; NULL: none */
int decode_convert(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_arith(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_move_vector(struct decoder *d, const struct ptx_insn *in, struct mods *m);
/* Copies the 8 bytes of each lane from one row to another. */
int decode_copy64(struct decoder *d, int32_t to, int32_t from);
/* cvta and isspacep */
int decode_to_space(struct decoder *d, const struct ptx_insn *in, struct mods *m);
/* alloca, stacksave and stackrestore */
int decode_stack(struct decoder *d, const struct ptx_insn *in, struct mods *m);
int decode_unknown(struct decoder *d, const struct ptx_insn *in);

#endif
