/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A task's way into its job's mount namespace; see job_mount.h. */
#define _GNU_SOURCE
#include "plugins/spank/job_mount.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpushare/mount/cover.h"
#include "gpushare/mount/namespace.h"
#include "gpushare/mount/plan.h"

static struct {
	int planned;
	struct gs_mount_plan plan;
	char folder[PATH_MAX / 2];
	const char *socket;
	char cwd[PATH_MAX]; /* "": the process has not moved */
} self;

int gs_job_mount_begin(const char *socket, struct gs_error *err)
{
	int rc;

	if (gs_mount_folder(socket, self.folder, sizeof(self.folder)) < 0)
		return gs_fail(err, "the socket's path is too long");
	self.socket = socket;
	rc = gs_mount_plan_read(self.folder, &self.plan, err);
	self.planned = rc == 1;
	return rc;
}

int gs_job_mount_planned(void)
{
	return self.planned;
}

int gs_job_mount_suffices(void)
{
	return self.planned && !self.plan.library_path;
}

int gs_job_mount_join(uint32_t job_id, uid_t uid, const char *environment, struct gs_error *err)
{
	char job[GS_MOUNT_PATH_MAX];

	if (!self.planned)
		return 0;
	if (!getcwd(self.cwd, sizeof(self.cwd)))
		self.cwd[0] = '\0';
	if (gs_mount_join(&self.plan, self.folder, self.socket, job_id, err) < 0)
		return -1;
	snprintf(job, sizeof(job), "GPUSHARE_SOCKET=%s\nGPUSHARE_JOB_ID=%u\n", self.socket, job_id);
	return environment ? gs_mount_tell_job(self.folder, uid, job, environment, err) : 0;
}

/* Slurm enters the working directory once more after the join, in the job's namespace: that may be
 * below a mount of the job's own, which slurmstepd itself has not seen.  Where it could not, it has
 * gone to /tmp; where it has not tried, we are in the root. */
static int is_there(void)
{
	char now[PATH_MAX];

	return getcwd(now, sizeof(now)) && strcmp(now, "/") != 0 && strcmp(now, "/tmp") != 0;
}

void gs_job_mount_return(void)
{
	if (!self.cwd[0] || is_there() || chdir(self.cwd) == 0)
		return;
	/* As Slurm does. */
	slurm_error("gpushare: couldn't chdir to `%s': %m: going to /tmp instead", self.cwd);
	if (chdir("/tmp") < 0)
		slurm_error("gpushare: couldn't chdir to /tmp: %m");
}

void gs_job_mount_over(const char *socket, uint32_t job_id)
{
	struct gs_error err;

	if (gs_mount_folder(socket, self.folder, sizeof(self.folder)) == 0 &&
	    access(self.folder, F_OK) == 0 && gs_mount_leave(self.folder, job_id, &err) < 0)
		slurm_error("gpushare: job %u: %s", job_id, err.text);
}
