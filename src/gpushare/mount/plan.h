/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files the shim takes the place of on this node.  gpushared writes the
 * plan when it starts and when it reloads; whoever starts a job's processes reads it.
 * It is a file, and no answer of gpushared's, so that it holds while gpushared is away.
 */
#ifndef GPUSHARE_MOUNT_PLAN_H
#define GPUSHARE_MOUNT_PLAN_H

#include <stddef.h>

#include "common/error.h"

#define GS_MOUNT_PATH_MAX 256
#define GS_MOUNT_COVERS_MAX 16

struct gs_mount_plan {
	char shim[GS_MOUNT_PATH_MAX];   /* its libcuda.so.1 */
	char driver[GS_MOUNT_PATH_MAX]; /* the libcuda.so.1 below it where a program does not say
					   which; one of cover */
	char cover[GS_MOUNT_COVERS_MAX][GS_MOUNT_PATH_MAX]; /* paths of drivers, links included */
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
