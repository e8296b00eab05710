/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Covering the drivers in the caller's mount namespace, which must be one of the job's own.
 *
 * What a process there finds of it is the job's folder, a small file system called
 * GS_MOUNT_SOURCE, so that /proc/self/mountinfo tells where it is to a program that has lost its
 * environment:
 *
 *	real/...	the drivers, each below its own path
 *	driver		a link to the one that is used where a program does not say which
 *	socket		the path of gpushared's socket
 *	job		which job it is, as variables, "A=B" lines; there if the job has shares
 *	node		there if the drivers are covered on the whole node: who has no job asks
 *	lib		a folder for LD_LIBRARY_PATH, with the driver's libraries under their usual
 *			names
 *	covered		the covered files, one a line
 *	environment	the other variables that gpushared gives its processes; its user's
 */
#ifndef GPUSHARE_MOUNT_COVER_H
#define GPUSHARE_MOUNT_COVER_H

#include <sys/types.h>

#include "gpushare/mount/plan.h"

#define GS_MOUNT_SOURCE "gpushare"

/* The caller's namespace: mounts made outside still arrive in it, none goes out.  The job's folder
 * becomes <folder>/job.  0, or -1 with the reason. */
int gs_mount_cover(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		   struct gs_error *err);

/*
 * The same on the node, in the mount namespace that all of it has; nothing is done if it is so
 * already.  0, or -1 with the reason.
 */
int gs_mount_cover_node(const struct gs_mount_plan *plan, const char *folder, const char *socket,
			struct gs_error *err);

/* Take it away again, if it is there.  0, or -1 with the reason. */
int gs_mount_uncover_node(const char *folder, struct gs_error *err);

/* Does that path lead to the shim, or to the NVML of jobs? */
int gs_mount_is_covered(const struct gs_mount_plan *plan, const char *path);

/* Write the files `job` and, for that user only, `environment`; 0, or -1 with the reason. */
int gs_mount_tell_job(const char *folder, uid_t uid, const char *job, const char *environment,
		      struct gs_error *err);

#endif
