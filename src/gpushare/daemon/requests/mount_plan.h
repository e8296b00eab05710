/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MountShim=: the plan by which jobs' mounts are made (mount/plan.h). */
#ifndef GPUSHARE_DAEMON_MOUNT_PLAN_H
#define GPUSHARE_DAEMON_MOUNT_PLAN_H

#include "gpushare/config/config.h"

/* Look for the drivers anew and write the plan, or remove it with MountShim=no; the log has what
 * came of it. */
void gs_mount_plan_update(const struct gs_config *config);

/* The driver as it was found then, by its own path; "": there is none. */
const char *gs_mount_driver(void);

#endif
