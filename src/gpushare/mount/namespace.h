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

/*
 * Put the calling process, which must have one thread, into a mount namespace of its own, and, if
 * it is not root, a user namespace; nothing is done where the drivers are covered already.  0, or
 * -1 with the reason: the system does not permit it, say.
 */
int gs_mount_own(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		 struct gs_error *err);

/* In slurmd's child: the job is over, give its namespace up, if there is one; the caller, which
 * must have one thread, is in slurmd's mount namespace then.  0, or -1 with the reason. */
int gs_mount_leave(const char *folder, uint32_t job_id, struct gs_error *err);

#endif
