/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Immediate post-dominators of a control-flow graph. */
#ifndef GPUSHARE_PTX_POSTDOM_H
#define GPUSHARE_PTX_POSTDOM_H

#include "device/ptx/cfg.h"

/*
 * Fill ipdom and order of every block.  Blocks that cannot reach the end
 * (traps, endless loops) have the exit as their ipdom.  -1 when memory is
 * short or the graph takes too long.
 */
int ptx_find_postdominators(struct ptx_cfg *cfg);

#endif
