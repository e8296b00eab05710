/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may get past gpushare on this node: the shim in the driver's place, and the devices; see
 * check.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpushare/mount/plan.h"

/* What gpushared has written, and whether it still is so. */
static void check_plan(struct gs_check *c)
{
	const char *socket = c->socket ? c->socket : c->config->socket;
	struct gs_mount_plan plan;
	char folder[512], file[PATH_MAX];
	struct gs_error err;
	int rc;

	if (c->config->mount_shim == GS_MOUNT_NO) {
		gs_check_add(
			c, GS_DOUBT, "mounts", "MountShim=step",
			"MountShim=no: programs with an RPATH, another LD_LIBRARY_PATH or none, and those that open the driver by its path, get past gpushare");
		return;
	}
	if (gs_mount_folder(socket, folder, sizeof(folder)) < 0)
		return;
	rc = gs_mount_plan_read(folder, &plan, &err);
	if (rc < 0)
		gs_check_add(c, GS_WRONG, "mounts", "restart gpushared, which writes it", "%s",
			     err.text);
	else if (!rc)
		gs_check_add(
			c, GS_DOUBT, "mounts",
			"start gpushared, and see in its log why it has none",
			"%s/plan is not there: in jobs the shim does not take the driver's place",
			folder);
	for (size_t i = 0; rc == 1 && i < plan.ncover; i++)
		if (realpath(plan.cover[i], file))
			gs_check_add(c, GS_GOOD, "mounts", NULL,
				     "in jobs the shim takes the place of %s", plan.cover[i]);
		else
			gs_check_add(c, GS_DOUBT, "mounts",
				     "reload gpushared, which looks for drivers anew",
				     "%s is not there any more", plan.cover[i]);
}

/* Does Slurm keep jobs from GPUs that they have not asked for? */
static void check_devices(struct gs_check *c)
{
	char path[PATH_MAX], *constrain = NULL, *plugins;
	const char *slash = strrchr(c->slurm_conf_path, '/');
	struct gs_slurm_conf *cgroup;

	snprintf(path, sizeof(path), "%.*scgroup.conf",
		 slash ? (int)(slash + 1 - c->slurm_conf_path) : 0, c->slurm_conf_path);
	cgroup = gs_slurm_conf_load(path, NULL);
	if (cgroup)
		constrain = gs_slurm_conf_value(cgroup, "ConstrainDevices");
	plugins = gs_slurm_conf_value(c->slurm, "TaskPlugin");
	if (constrain && strcasecmp(constrain, "yes") == 0 && plugins &&
	    strstr(plugins, "task/cgroup"))
		gs_check_add(c, GS_GOOD, "devices", NULL,
			     "jobs have the GPUs that they have asked for only (ConstrainDevices)");
	else
		gs_check_add(
			c, GS_DOUBT, "devices",
			"TaskPlugin=task/cgroup in slurm.conf, ConstrainDevices=yes in cgroup.conf",
			"ConstrainDevices=%s, TaskPlugin=%s: jobs without shares use the GPUs past gpushare; gpushared's log and status name them (Unmanaged=)",
			constrain ? constrain : "(none)", plugins ? plugins : "(none)");
	free(constrain);
	free(plugins);
	gs_slurm_conf_free(cgroup);
}

void gs_check_mounts(struct gs_check *c)
{
	if (!c->config || !c->config->ngpu)
		return;
	check_plan(c);
	if (c->slurm)
		check_devices(c);
}
