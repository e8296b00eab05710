/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Basic blocks, branches and immediate post-dominators of one body. */
#ifndef GPUSHARE_PTX_CFG_H
#define GPUSHARE_PTX_CFG_H

#include <stdint.h>

#include "device/ptx/facts.h"

#define PTX_BLOCK_NONE UINT32_MAX

struct ptx_block {
	uint32_t begin, end;  /* statements [begin, end) */
	uint32_t succ, nsucc; /* into edge[] */
	uint32_t pred, npred; /* into back[] */
	uint32_t ipdom;       /* where all paths from here meet; exit_block if only at the end */
	uint32_t order;       /* in the post-order of the reversed graph; 0: cannot reach the end */
	uint32_t branch;      /* statement that chooses between successors, or PTX_BLOCK_NONE */
};

struct ptx_cfg {
	struct ptx_block *block; /* the last is the exit: no statements */
	uint32_t nblock, exit_block;
	uint32_t *edge, *back;
	uint32_t nedge;
	uint32_t *block_of; /* by statement */
};

/* -1 when memory is short or a branch goes to a label that is not there. */
int ptx_cfg_build(struct ptx_cfg *cfg, const struct ptx_analysis *a, const struct ptx_func *f);
void ptx_cfg_free(struct ptx_cfg *cfg);

#endif
