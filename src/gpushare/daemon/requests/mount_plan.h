/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MountShim=: the plan by which jobs' mounts are made (mount/plan.h). */
#ifndef GPUSHARE_DAEMON_MOUNT_PLAN_H
#define GPUSHARE_DAEMON_MOUNT_PLAN_H

#include "gpushare/config/config.h"
#include "gpushare/mount/plan.h"

/*
 * Look for the drivers anew and write the plan, or remove it where jobs need none; the log has what
 * came of it.  With MountShim=node the configuration's Driver and its NVML become the driver's own
 * files, for the daemon's helpers, MPS and the jobs alike.
 */
void gs_mount_plan_update(struct gs_config *config);

/* `gpushared --mounts`: as root, in the node's mount namespace.  0, or -1 with the reason. */
int gs_mount_node(const struct gs_config *config, struct gs_error *err);

/* A library of the driver's as it was found then, by its own path; "": there is none. */
const char *gs_mount_driver(enum gs_mount_library library);

#endif
