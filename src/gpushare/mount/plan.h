/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files of this node's driver the shim, and the NVML of jobs, take the place of.  gpushared
 * writes the plan when it starts and when it reloads; whoever starts a job's processes reads it.
 * It is a file, and no answer of gpushared's, so that it holds while gpushared is away.
 */
#ifndef GPUSHARE_MOUNT_PLAN_H
#define GPUSHARE_MOUNT_PLAN_H

#include <stddef.h>

#include "common/error.h"

#define GS_MOUNT_PATH_MAX 256
#define GS_MOUNT_COVERS_MAX 32

/* The libraries of the driver that have one of ours in their place. */
enum gs_mount_library { GS_MOUNT_CUDA, GS_MOUNT_NVML, GS_MOUNT_LIBRARIES };
#define GS_MOUNT_NAMES \
	{ \
		"libcuda.so.1", "libnvidia-ml.so.1" \
	} /* in that order */

struct gs_mount_file {
	enum gs_mount_library library;
	char path[GS_MOUNT_PATH_MAX];
};

struct gs_mount_plan {
	char ours[GS_MOUNT_LIBRARIES][GS_MOUNT_PATH_MAX]; /* the shim's libcuda.so.1 and the NVML
							     of jobs; "": jobs keep the driver's,
							     whatever cover has of it */
	char driver[GS_MOUNT_PATH_MAX]; /* the libcuda.so.1 below the shim where a program does not
					   say which; one of cover */
	struct gs_mount_file cover[GS_MOUNT_COVERS_MAX]; /* paths of drivers, links included */
	size_t ncover;
	int library_path; /* 1: the loader does not find the driver by itself, so LD_LIBRARY_PATH
			     has to lead to the shim */
};

/*
 * The folder beside gpushared's socket that has the plan, the jobs' namespaces and, in such a
 * namespace, the job's own folder: /run/gpushare/gpushared.mounts for
 * /run/gpushare/gpushared.sock.  0, or -1 when it does not fit.
 */
int gs_mount_folder(const char *socket, char *folder, size_t size);

/* Replace the plan in that folder, which is made if it is not there.  0, or -1 with the reason. */
int gs_mount_plan_write(const char *folder, const struct gs_mount_plan *plan, struct gs_error *err);

/* From now on there is nothing to cover.  0, or -1 with the reason. */
int gs_mount_plan_remove(const char *folder, struct gs_error *err);

/*
 * 1 with the plan, 0 if there is none, or -1 with the reason: it cannot be read, is none, or
 * may be written by others than its owner, who must be root or the caller.
 */
int gs_mount_plan_read(const char *folder, struct gs_mount_plan *plan, struct gs_error *err);

#endif
