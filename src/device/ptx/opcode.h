/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kind of instruction an opcode is, as far as the transformation cares. */
#ifndef GPUSHARE_PTX_OPCODE_H
#define GPUSHARE_PTX_OPCODE_H

#include <string.h>

#include "device/ptx/ast.h"

enum ptx_op {
	PTX_OP_UNKNOWN,
	PTX_OP_PLAIN, /* its result depends on its operands alone */
	PTX_OP_COPY,  /* mov, cvt */
	PTX_OP_SETP,
	PTX_OP_SHR,
	PTX_OP_SURFACE, /* writes a surface */
	PTX_OP_LD,
	PTX_OP_ST,
	PTX_OP_ATOM,
	PTX_OP_RED,
	PTX_OP_CP,
	PTX_OP_BRA,
	PTX_OP_BRX,
	PTX_OP_CALL,
	PTX_OP_RET,
	PTX_OP_EXIT,
	PTX_OP_TRAP,
	PTX_OP_BAR, /* bar, barrier: of the block, of a warp or of a cluster */
	PTX_OP_SHFL,
	PTX_OP_VOTE,
	PTX_OP_MATCH,
	PTX_OP_REDUX,
	PTX_OP_ELECT,
	PTX_OP_MATRIX, /* warp-wide, results differ by lane */
	PTX_OP_ASYNC,
	PTX_OP_CLUSTER,
	PTX_OP_SETMAXNREG,
	PTX_OP_PDL,
	PTX_OP_STACK, /* the loop of a worker would grow the stack */
};

enum ptx_op ptx_opcode(struct ptx_slice opcode);

/* The same with the modifier's length. */
int ptx_has_word(struct ptx_slice opcode, const char *modifier, size_t n);

/* Has the opcode this modifier (".sync"), at a modifier's boundary? */
static inline int ptx_has_modifier(struct ptx_slice opcode, const char *modifier)
{
	return ptx_has_word(opcode, modifier, strlen(modifier));
}

#endif
