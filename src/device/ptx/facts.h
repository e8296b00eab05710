/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a function does that the transformation must know, and what it calls. */
#ifndef GPUSHARE_PTX_FACTS_H
#define GPUSHARE_PTX_FACTS_H

#include <stdint.h>

#include "device/ptx/ast.h"
#include "device/ptx/symtab.h"
#include "device/ptx/transform.h"

/* The reasons that code can give are the first ones of reasons.def. */
#define PTX_CODE_REASONS PTX_REASON_ONE_WAVE
_Static_assert(PTX_CODE_REASONS <= 32, "a bit for each");

/* Facts beside the reasons; they travel from callee to caller as well. */
enum {
	PTX_FACT_BARRIER = 1u << 0,   /* a barrier of the whole block, or a counted one */
	PTX_FACT_WARP_SYNC = 1u << 1, /* an instruction with a member mask */
	PTX_FACT_SHARED = 1u << 2,    /* touches shared memory */
	PTX_FACT_CP_ASYNC = 1u << 3,
	PTX_FACT_INDIRECT = 1u << 4, /* calls through a pointer */
	PTX_FACT_ATOMIC = 1u << 5,
	PTX_FACT_PRINTF = 1u << 6,
	PTX_FACT_MISSED_BARRIER = 1u << 7, /* a function in which threads part before a barrier */
	PTX_FACT_MISSED_WARP = 1u << 8,    /* ... before an instruction that names them */
	PTX_FACT_SURFACE = 1u << 10,       /* writes a surface */
	PTX_FACT_WHOLE_WARPS = 1u << 9,    /* see ptx_kernel.whole_warps */
};

/* Of %ctaid and %nctaid: 1 x, 2 y, 4 z; the latter's are higher. */
#define PTX_INDEX_TASK 7u
#define PTX_INDEX_GRID_SHIFT 3

struct ptx_facts {
	uint32_t facts, own_facts;       /* with and without those of the callees */
	uint32_t reasons;                /* a bit per enum ptx_reason */
	uint32_t line[PTX_CODE_REASONS]; /* of the first instruction that gave it */
	uint8_t index;        /* %ctaid and %nctaid, read here or in a function called by name */
	uint32_t static_line; /* a global variable is declared in the body; 0: none */
	uint16_t counted_barriers; /* numbers used with a thread count */
	uint8_t counted_unknown;   /* one of those numbers is in a register */
	uint8_t barrier_red;       /* bar.red of the whole block */
	uint32_t barrier_line;
	uint64_t shared_bytes; /* static ones, declared or named in the body */
	uint8_t address_taken;
	uint32_t *callee; /* functions by index in the module */
	uint32_t ncallee;
};

struct ptx_analysis {
	const struct ptx_module *module;
	struct ptx_facts *func;  /* one per module->func */
	struct ptx_symtab names; /* function names; the number is that of the first declaration */
	uint32_t *body; /* by name number: index of the func with a body, or PTX_SYM_NONE */
	uint32_t nbody;
	uint32_t sm;                       /* of .target */
	struct ptx_symtab shared;          /* .shared variables of the module */
	const struct ptx_var **shared_var; /* by number */
	uint32_t *shared_stamp;            /* by number: 1 + the last function that named it */
	uint32_t nshared;
	uint64_t function_shared; /* bytes of all functions that are no entries */
	uint8_t sync_aware;       /* PTX_TRANSFORMS_SYNC_AWARE is asked for */
	uint8_t alone;            /* PTX_TRANSFORMS_ALONE is */
};

/* -1 when memory is short. */
int ptx_analyse(struct ptx_analysis *a, const struct ptx_module *module);
void ptx_analysis_free(struct ptx_analysis *a);

void ptx_facts_add_reason(struct ptx_facts *f, enum ptx_reason reason, uint32_t line);

/* Facts of what the function calls, without its own. */
uint32_t ptx_callee_facts(const struct ptx_analysis *a, const struct ptx_facts *f);

/* Index of the function with a body that the call names; PTX_SYM_NONE: none here, or indirect. */
uint32_t ptx_callee(const struct ptx_analysis *a, const struct ptx_insn *call);
/* The operand that names a call's target. */
const struct ptx_operand *ptx_call_target(const struct ptx_insn *call);
/* Does the instruction, a call, never come back? */
int ptx_call_never_returns(const struct ptx_analysis *a, const struct ptx_insn *call);

/* bar and barrier of the block: what its operands mean. */
struct ptx_barrier {
	uint8_t of_block; /* not .warp, not .cluster */
	uint8_t is_arrive, is_red, counted;
	const struct ptx_operand *number, *dest, *pred;
};
struct ptx_barrier ptx_barrier_of(const struct ptx_insn *insn);

#endif
