/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a variant is launched with, first and again: the program's parameters in one block with the
 * transform's behind them, and those of the launch's attributes (cuLaunchKernelEx) that hold for
 * it.
 */
#ifndef GPUSHARE_SHIM_PACKED_H
#define GPUSHARE_SHIM_PACKED_H

#include "device/shim/launch/request.h"

/*
 * Take over the attributes that the launch has, config NULL: none.  NONE, or why the kernel goes as
 * written: a variant would not do what the attribute asks for.  by_cluster: the variant asks by
 * cluster whether to leave, so that clusters hold for it.
 */
enum ptx_reason shim_attributes_take(struct shim_attributes *to, const CUlaunchConfig *config,
				     int by_cluster);

/*
 * The program's parameters into l->as.packed, and zeros for the transform's.  0, or -1: there is no
 * memory, or the driver must say what is wrong with them.
 */
int shim_pack_params(struct shim_launch *l, const struct shim_request *r);

/* Launch the variant in that grid, with its parameters and attributes; the context is current. */
CUresult shim_launch_packed(struct shim_launch *l, const unsigned int grid[3], CUstream stream);

#endif
