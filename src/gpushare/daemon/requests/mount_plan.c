/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the plan of the jobs' mounts; see mount_plan.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/requests/mount_plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "gpushare/mount/cover.h"
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

static const char *shim_dir(const struct gs_config *config)
{
	return *config->shim_dir ? config->shim_dir : GS_SHIM_DIR;
}

/* MountShim=node: what `gpushared --mounts` has done is to be there. */
static void use_own_file(struct gs_config *config, const struct gs_mount_plan *plan,
			 const char *folder)
{
	char path[PATH_MAX], *own;

	snprintf(path, sizeof(path), "%s/job/lib/libcuda.so.1", folder);
	if (!gs_mount_is_covered(plan, plan->driver) || !realpath(path, driver)) {
		gs_log(GS_LOG_ERROR,
		       "MountShim=node, and the shim is not in the place of %s: run gpushared --mounts as root",
		       plan->driver);
		return;
	}
	gs_log(GS_LOG_INFO, "on this node the shim has the place of %s", plan->driver);
	own = strdup(path);
	if (!own)
		return; /* that path leads to the shim, which passes on whoever is in no step */
	free(config->driver);
	config->driver = own;
}

static void write_plan(const struct gs_mount_plan *plan, const char *folder)
{
	struct gs_error err;

	if (gs_mount_plan_write(folder, plan, &err) < 0) {
		gs_log(GS_LOG_ERROR, "the shim takes no driver's place in jobs: %s", err.text);
		return;
	}
	for (size_t i = 0; i < plan->ncover; i++)
		gs_log(GS_LOG_INFO, "in jobs the shim takes the place of %s", plan->cover[i]);
}

void gs_mount_plan_update(struct gs_config *config)
{
	struct gs_mount_plan plan;
	struct gs_error err;
	char folder[512];
	int found;

	if (gs_mount_folder(config->socket, folder, sizeof(folder)) < 0)
		return; /* a socket of that length could not be bound */
	found = gs_mount_find(shim_dir(config), config->driver, &plan, &err);
	if (found != 1 || !realpath(plan.driver, driver))
		driver[0] = '\0';
	if (found < 0 && config->mount_shim != GS_MOUNT_NO)
		gs_log(GS_LOG_ERROR, "the shim takes no driver's place: %s", err.text);
	else if (!found && config->mount_shim != GS_MOUNT_NO)
		gs_log(GS_LOG_WARN, "the shim takes no driver's place: no driver was found");
	else if (config->mount_shim == GS_MOUNT_STEP)
		write_plan(&plan, folder);
	else if (config->mount_shim == GS_MOUNT_NODE)
		use_own_file(config, &plan, folder);
	if (found != 1 || config->mount_shim != GS_MOUNT_STEP)
		none(folder);
}

int gs_mount_node(const struct gs_config *config, struct gs_error *err)
{
	struct gs_mount_plan plan;
	char folder[512];
	int found;

	if (gs_mount_folder(config->socket, folder, sizeof(folder)) < 0)
		return gs_fail(err, "%s is too long", config->socket);
	if (config->mount_shim != GS_MOUNT_NODE || !config->ngpu)
		return gs_mount_uncover_node(folder, err);
	found = gs_mount_find(shim_dir(config), config->driver, &plan, err);
	if (!found)
		return gs_fail(err, "no driver was found");
	return found < 0 ? -1 : gs_mount_cover_node(&plan, folder, config->socket, err);
}
