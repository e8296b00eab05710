/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoded program of one kernel: a dense array of operations with
 * registers resolved to rows and labels to program counters.
 *
 * A register is a row of 32 lanes in the warp's register file: 4 bytes a
 * lane for types up to 32 bits (16-bit values are zero-extended), 8 bytes for
 * 64-bit types; a predicate is one 32-bit mask.  A row is named by its byte
 * offset: 0 and above in the frame of the running function, below 0 in the
 * kernel's pool of constant rows (at ~offset), which all warps share.
 */
#ifndef GPUSHARE_EMU_IR_H
#define GPUSHARE_EMU_IR_H

#include <stdint.h>
#include <stddef.h>

#include "device/ptx/ast.h"

#define EMU_LANES 32
#define EMU_FULL 0xffffffffu
#define EMU_NO_ROW INT32_MIN

struct emu_warp;
struct emu_op;

/* Executes one operation for the lanes of mask.  0, or -1 with the warp's fault filled. */
typedef int emu_handler(struct emu_warp *warp, const struct emu_op *op, uint32_t mask);

/* How the warp loop treats an operation. */
enum emu_class {
	EMU_C_ALU, /* fn, then the next */
	EMU_C_BRA,
	EMU_C_BRX,
	EMU_C_CALL,
	EMU_C_CALL_INDIRECT,
	EMU_C_RET,
	EMU_C_EXIT,
	EMU_C_BAR,
	EMU_C_BARWARP,
	EMU_C_WARPSYNC, /* fn once all lanes of the member mask in s[3] are here */
	EMU_C_TRAP,
};

enum emu_space {
	EMU_S_GENERIC,
	EMU_S_GLOBAL,
	EMU_S_SHARED,
	EMU_S_LOCAL,
	EMU_S_PARAM,
};

struct emu_mode {
	uint8_t rounding; /* enum emu_rounding */
	uint8_t flags;    /* EMU_F_* */
};

struct emu_op {
	emu_handler *fn;
	emu_handler *inner; /* what a floating-point environment wrapper runs */
	uint8_t cls;
	uint8_t guard_negated;
	uint8_t sub;    /* comparison, atomic operation, mode: the family's own enum */
	uint8_t boolop; /* setp: and, or, xor */
	uint8_t space;  /* enum emu_space */
	uint8_t size;   /* memory: bytes of one element */
	uint8_t vec;    /* memory: elements */
	uint8_t is_signed;
	uint8_t type; /* enum ptx_type */
	uint8_t wide; /* memory: destination rows are 8 bytes a lane; address: 8 bytes a lane */
	struct emu_mode mode;
	int32_t guard;    /* row of the predicate; EMU_NO_ROW: none */
	int32_t d;        /* destination row */
	int32_t s[4];     /* source rows */
	int32_t extra[4]; /* rows of further vector elements (memory), of p|q's q (setp) */
	uint32_t target;  /* pc; table index */
	int64_t imm;      /* address offset and the like */
	uint32_t line;    /* of the module's text */
};

enum emu_rounding { EMU_RN, EMU_RZ, EMU_RM, EMU_RP, EMU_RNA };

#define EMU_F_FTZ 1
#define EMU_F_SAT 2
#define EMU_F_ADDR64 4  /* the address register is 64 bits wide */
#define EMU_F_NOBASE 8  /* the address is the offset alone */
#define EMU_F_FRAME 16  /* the address is relative to the function's local frame */
#define EMU_F_FINITE 64 /* cvt: .satfinite */

/* One parameter of a call: bytes of the caller's frame to the callee's. */
struct emu_arg {
	int32_t from, to; /* offsets in the local frames */
	uint32_t size;
};

/* A parameter held in a register (.reg parameters of a .func). */
struct emu_reg_arg {
	int32_t from, to; /* rows, in the caller's and the callee's frame */
	uint32_t bytes;   /* of a row */
};

struct emu_call {
	uint32_t func; /* index in emu_program.func; unused if indirect */
	struct emu_arg *in, *out;
	uint32_t nin, nout;
	struct emu_reg_arg *rin, *rout;
	uint32_t nrin, nrout;
};

/* One function inside the program; func[0] is the kernel. */
struct emu_func {
	struct ptx_slice name;
	const struct ptx_func *ast;
	uint32_t entry;               /* pc */
	uint32_t frame_bytes;         /* of register rows */
	uint32_t local_bytes;         /* of local frame (depot, call parameters), per lane */
	int32_t *param_at, *ret_at;   /* local offsets of the formal parameters */
	int32_t *param_row, *ret_row; /* rows of .reg parameters, EMU_NO_ROW otherwise */
	uint32_t module_index;        /* what a function address holds */
};

struct emu_table {
	uint32_t *pc;
	uint32_t n;
};

/* From this pc on: a place in the source (PTX ISA, ".loc"); line 0: none known. */
struct emu_line {
	uint32_t pc;
	uint32_t file; /* as .file numbers it */
	uint32_t line;
};

struct emu_file {
	uint32_t number;
	char *name;
};

/* Where the operations come from. */
struct emu_source {
	struct emu_line *lines; /* by pc */
	uint32_t nlines;
	struct emu_file *file;
	uint32_t nfiles;
};

/* The kernel's parameter block. */
struct emu_params {
	uint32_t bytes;
	uint32_t n;
	struct {
		uint32_t offset, size;
	} * param;
};

/* What a block or a warp of the kernel needs. */
struct emu_needs {
	uint32_t shared_bytes;       /* static */
	uint32_t dynamic_align_base; /* where dynamic shared memory begins */
	uint32_t frame_total;        /* register bytes per warp, the deepest call chain included */
	uint32_t local_total;        /* local bytes per lane, likewise */
	uint32_t max_depth;
	uint32_t nreg; /* an estimate of 32-bit registers per thread */
	uint8_t uses_recursion;
};

struct emu_program {
	struct emu_source source;
	struct emu_op *op;
	uint32_t nop;
	struct emu_func *func;
	uint32_t nfunc;
	struct emu_call *call;
	uint32_t ncall;
	struct emu_mma *mma; /* of matrix instructions (mma.h) */
	uint32_t nmma;
	int32_t *rows; /* of operations that have more than fit into one, from their target on */
	uint32_t nrows;
	struct emu_table *table; /* of brx.idx */
	uint32_t ntable;
	uint8_t *constant; /* constant rows */
	uint32_t constant_bytes;
	struct emu_params params;
	struct emu_needs needs;
};

/* Where the module's symbols live; filled by the module loader. */
struct emu_symbols {
	void *user;
	/*
	 * Address of a module-scope variable: 0 and *address (device address,
	 * or offset in shared memory for PTX_SPACE_SHARED), or -1.
	 */
	int (*variable)(void *user, struct ptx_slice name, enum ptx_space *space,
			uint64_t *address);
};

/*
 * Decode the kernel func of the module, with every function it can reach.
 * NULL with "line N: reason" in err.
 */
struct emu_program *emu_decode(const struct ptx_module *module, const struct ptx_func *func,
			       const struct emu_symbols *symbols, struct gs_error *err);
void emu_program_free(struct emu_program *program);

/* The source line that the operation comes from, and its file's name (NULL: not known).  0: the
 * module does not say. */
uint32_t emu_program_source(const struct emu_program *program, uint32_t pc, const char **file);

/* A function's address is this plus its index in the module. */
#define EMU_FUNC_BASE 0x0500000000000000ull
/* Generic windows: far outside what a process can map. */
#define EMU_SHARED_BASE 0x0100000000000000ull
#define EMU_LOCAL_BASE 0x0200000000000000ull
#define EMU_PARAM_BASE 0x0300000000000000ull
#define EMU_WINDOW_MASK 0xff00000000000000ull

#endif
