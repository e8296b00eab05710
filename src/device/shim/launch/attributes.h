/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The attributes of a launch (cuLaunchKernelEx), and which of them a variant can have as well. */
#ifndef GPUSHARE_SHIM_ATTRIBUTES_H
#define GPUSHARE_SHIM_ATTRIBUTES_H

#include "device/ptx/transform.h"
#include "device/shim/base/shim.h"

/* Launches hardly ever have more. */
#define SHIM_ATTRIBUTES_MAX 4

/* The attributes that every launch and relaunch of the variant gets. */
struct shim_attributes {
	unsigned int n;
	CUlaunchAttribute of[SHIM_ATTRIBUTES_MAX];
};

/*
 * Copies the attributes of `config` (NULL: none) to *to. Returns PTX_REASON_NONE, or the reason why
 * the kernel must go out as written, since the variant would not do what an attribute asks for.
 * by_cluster: the variant decides by cluster whether to leave, so cluster attributes are allowed.
 */
enum ptx_reason shim_attributes_take(struct shim_attributes *to, const CUlaunchConfig *config,
				     int by_cluster);

#endif
