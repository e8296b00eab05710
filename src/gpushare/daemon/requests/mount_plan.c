/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the plan of the jobs' mounts; see mount_plan.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/requests/mount_plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/mount/cover.h"
#include "gpushare/mount/find.h"

static char driver[GS_MOUNT_LIBRARIES][PATH_MAX];

const char *gs_mount_driver(enum gs_mount_library library)
{
	return driver[library];
}

/* The first file of each library, and where links lead. */
static void note_drivers(const struct gs_mount_plan *plan, int found)
{
	memset(driver, 0, sizeof(driver));
	for (size_t i = 0; found == 1 && i < plan->ncover; i++) {
		char *file = driver[plan->cover[i].library];

		if (!*file && !realpath(plan->cover[i].path, file))
			file[0] = '\0';
	}
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

static int find(const struct gs_config *config, struct gs_mount_plan *plan, struct gs_error *err)
{
	int found = gs_mount_find(shim_dir(config), config->driver, config->nvml, plan, err);

	if (!config->job_nvml)
		plan->ours[GS_MOUNT_NVML][0] = '\0';
	return found;
}

/* That path leads to a library of ours, which passes on whoever is in no step. */
static void use_instead(char **setting, const char *path, enum gs_mount_library library)
{
	char *own = realpath(path, driver[library]) ? strdup(path) : NULL;

	if (!own)
		return;
	free(*setting);
	*setting = own;
}

/* MountShim=node: what `gpushared --mounts` has done is to be there. */
static void use_own_file(struct gs_config *config, const struct gs_mount_plan *plan,
			 const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/job/lib/libcuda.so.1", folder);
	if (!gs_mount_is_covered(plan, plan->driver) || access(path, F_OK) < 0) {
		gs_log(GS_LOG_ERROR,
		       "MountShim=node, and the shim is not in the place of %s: run gpushared --mounts as root",
		       plan->driver);
		return;
	}
	gs_log(GS_LOG_INFO, "on this node the shim has the place of %s", plan->driver);
	use_instead(&config->driver, path, GS_MOUNT_CUDA);
	snprintf(path, sizeof(path), "%s/job/lib/libnvidia-ml.so.1", folder);
	use_instead(&config->nvml, path, GS_MOUNT_NVML);
}

static void write_plan(const struct gs_mount_plan *plan, const char *folder)
{
	struct gs_error err;

	if (gs_mount_plan_write(folder, plan, &err) < 0) {
		gs_log(GS_LOG_ERROR, "the shim takes no driver's place in jobs: %s", err.text);
		return;
	}
	for (size_t i = 0; i < plan->ncover; i++)
		if (*plan->ours[plan->cover[i].library])
			gs_log(GS_LOG_INFO, "in jobs the shim takes the place of %s",
			       plan->cover[i].path);
}

void gs_mount_plan_update(struct gs_config *config)
{
	struct gs_mount_plan plan;
	struct gs_error err;
	char folder[512];
	int found;

	if (gs_mount_folder(config->socket, folder, sizeof(folder)) < 0)
		return; /* a socket of that length could not be bound */
	found = find(config, &plan, &err);
	note_drivers(&plan, found);
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
	found = find(config, &plan, err);
	if (!found)
		return gs_fail(err, "no driver was found");
	return found < 0 ? -1 : gs_mount_cover_node(&plan, folder, config->socket, err);
}
