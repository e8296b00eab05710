/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the assembler makes of kernels: registers, spills, and the blocks that fit on an SM. */
#ifndef GPUSHARE_PTX_CODE_H
#define GPUSHARE_PTX_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* One entry's machine code. */
struct tool_code {
	char *name;
	uint32_t registers; /* per thread */
	uint32_t spilled;   /* bytes stored and loaded */
	uint32_t shared;    /* static, bytes */
};

struct tool_codes {
	struct tool_code *code;
	uint32_t n;
};

/*
 * Assemble PTX text for a compute capability (90 for 9.0) with the ptxas of
 * PATH, or else of CUDA's usual folder.  -1 with the reason in err.
 */
int tool_assemble(struct tool_codes *codes, const char *text, size_t len, uint32_t sm,
		  struct gs_error *err);
void tool_codes_free(struct tool_codes *codes);

/* The entry called name and suffix together; NULL: none. */
const struct tool_code *tool_code_find(const struct tool_codes *codes, const char *name,
				       const char *suffix);

/* Blocks of so many threads that an SM holds at once; 0: none fits, or the compute capability is
 * not in sm.def. */
uint32_t tool_resident_blocks(const struct tool_code *code, uint32_t sm, uint32_t threads);
int tool_knows_sm(uint32_t sm);

#endif
