/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where this node has drivers that the shim has to take the place of. */
#ifndef GPUSHARE_MOUNT_FIND_H
#define GPUSHARE_MOUNT_FIND_H

#include "gpushare/mount/plan.h"

/*
 * Fill the plan for the shim in shim_dir: the driver that the configuration names ("": none),
 * those that the dynamic linker's cache lists, those in the usual places, and those of
 * cuda-compat folders.  Each file once, under the first path that leads to it.
 * 1, 0 if there is no driver here, or -1 with the reason.
 */
int gs_mount_find(const char *shim_dir, const char *driver, struct gs_mount_plan *plan,
		  struct gs_error *err);

#endif
