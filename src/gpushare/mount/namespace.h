/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job's mount namespace: made by the first of its tasks on the node, joined by the others, kept
 * by a bind mount of it at <folder>/jobs/<job> until the job is over.  One for all of the job's
 * steps, so that what one of them mounts (FUSE) the others see, as without gpushare.
 */
#ifndef GPUSHARE_MOUNT_NAMESPACE_H
#define GPUSHARE_MOUNT_NAMESPACE_H

#include <stdint.h>

#include "gpushare/mount/plan.h"

/*
 * Put the calling process, which must have one thread and be root, into the job's namespace.  Its
 * working directory is the root then.  0; or -1 with the reason, the process still where it was.
 */
int gs_mount_join(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		  uint32_t job_id, struct gs_error *err);

/* The job is over: give its namespace up, if there is one.  0, or -1 with the reason. */
int gs_mount_leave(const char *folder, uint32_t job_id, struct gs_error *err);

#endif
