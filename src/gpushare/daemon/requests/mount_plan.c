/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the plan of the jobs' mounts; see mount_plan.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/requests/mount_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "gpushare/mount/find.h"

static char driver[PATH_MAX];

const char *gs_mount_driver(void)
{
	return driver;
}

static void none(const char *folder)
{
	struct gs_error err;

	if (gs_mount_plan_remove(folder, &err) < 0)
		gs_log(GS_LOG_ERROR, "%s", err.text);
}

void gs_mount_plan_update(const struct gs_config *config)
{
	struct gs_mount_plan plan;
	struct gs_error err;
	char folder[512];
	int found;

	if (gs_mount_folder(config->socket, folder, sizeof(folder)) < 0)
		return; /* a socket of that length could not be bound */
	found = gs_mount_find(*config->shim_dir ? config->shim_dir : GS_SHIM_DIR, config->driver,
			      &plan, &err);
	driver[0] = '\0';
	if (found == 1 && !realpath(plan.driver, driver))
		driver[0] = '\0';
	if (config->mount_shim == GS_MOUNT_NO) {
		none(folder);
		return;
	}
	if (found < 0)
		gs_log(GS_LOG_ERROR, "the shim takes no driver's place in jobs: %s", err.text);
	else if (!found)
		gs_log(GS_LOG_WARN,
		       "the shim takes no driver's place in jobs: no driver was found");
	else if (gs_mount_plan_write(folder, &plan, &err) < 0)
		gs_log(GS_LOG_ERROR, "the shim takes no driver's place in jobs: %s", err.text);
	else
		for (size_t i = 0; i < plan.ncover; i++)
			gs_log(GS_LOG_INFO, "in jobs the shim takes the place of %s",
			       plan.cover[i]);
	if (found != 1)
		none(folder);
}
