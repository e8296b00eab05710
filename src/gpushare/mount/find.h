/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where this node has libraries of the driver that ours have to take the place of. */
#ifndef GPUSHARE_MOUNT_FIND_H
#define GPUSHARE_MOUNT_FIND_H

#include "gpushare/mount/plan.h"

/*
 * Fill the plan for the libraries of ours in shim_dir: the driver that the configuration names
 * ("": none), those that the dynamic linker's cache lists, those in the usual places, and those of
 * cuda-compat folders.  Each file once, under the first path that leads to it.  The same for NVML,
 * where the configuration names a path, or a name without one; nothing is looked for where shim_dir
 * has none that could take its place.
 * 1, 0 if there is no driver here, or -1 with the reason.
 */
int gs_mount_find(const char *shim_dir, const char *driver, const char *nvml,
		  struct gs_mount_plan *plan, struct gs_error *err);

#endif
