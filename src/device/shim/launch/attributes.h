/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The attributes of a launch (cuLaunchKernelEx): which of them hold for a variant as well. */
#ifndef GPUSHARE_SHIM_ATTRIBUTES_H
#define GPUSHARE_SHIM_ATTRIBUTES_H

#include "device/ptx/transform.h"
#include "device/shim/base/shim.h"

/* More than these a launch has hardly ever. */
#define SHIM_ATTRIBUTES_MAX 4

/* Those that go with the variant, whenever it is launched. */
struct shim_attributes {
	unsigned int n;
	CUlaunchAttribute of[SHIM_ATTRIBUTES_MAX];
};

/*
 * Take over what the launch has, config NULL: nothing.  NONE, or why the kernel goes as written: a
 * variant would not do what the attribute asks for.  by_cluster: the variant asks by cluster
 * whether to leave, so that clusters hold for it.
 */
enum ptx_reason shim_attributes_take(struct shim_attributes *to, const CUlaunchConfig *config,
				     int by_cluster);

#endif
