/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far registers are the same for neighbouring threads. */
#ifndef GPUSHARE_PTX_LEVEL_H
#define GPUSHARE_PTX_LEVEL_H

#include "device/ptx/cfg.h"

enum ptx_level {
	PTX_LEVEL_BLOCK, /* one value in the whole block */
	PTX_LEVEL_WARP,  /* one value in each warp */
	PTX_LEVEL_TID_X, /* exactly %tid.x */
	PTX_LEVEL_THREAD,
};

struct ptx_levels {
	const struct ptx_analysis *a;
	const struct ptx_func *f;
	const struct ptx_cfg *cfg;
	struct ptx_symtab names; /* of registers */
	uint8_t *reg;            /* level by register number */
	uint32_t *def;           /* the statement that writes it; PTX_BLOCK_NONE: several or none */
	uint32_t nreg;
	uint8_t *block;     /* level of the branches whose arms the block is in */
	uint8_t used_tid_x; /* a rule about %tid.x and warps was applied */
	struct ptx_symtab
		locals; /* .local variables and the .param of calls: private to a thread */
};

/* Number the registers and note who writes them; -1 when memory is short. */
int ptx_levels_init(struct ptx_levels *l, const struct ptx_analysis *a, const struct ptx_func *f,
		    const struct ptx_cfg *cfg);
void ptx_levels_free(struct ptx_levels *l);

/* Raise the levels of what statement i writes; 1 if one rose. */
int ptx_level_step(struct ptx_levels *l, uint32_t i);

/* The level of the choice that statement i, a branch or a predicated exit, makes. */
enum ptx_level ptx_level_of_branch(const struct ptx_levels *l, uint32_t i);

/* The register's number, or PTX_SYM_NONE. */
uint32_t ptx_level_reg(const struct ptx_levels *l, struct ptx_slice name, uint16_t scope);

#endif
