/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's device memory controller (cgroup v2 "dmem", Linux 6.14 and
 * later; Documentation/admin-guide/cgroup-v2.rst): dmem.capacity in the root
 * names a region per line and its bytes, dmem.max in a group below takes a
 * region and bytes or "max".  Where it covers a GPU, what a Slurm job has
 * reserved is its limit there, too.  `root` is where the control groups
 * are mounted; cgroups are paths below it, "/system.slice/...".
 */
#ifndef GPUSHARE_DAEMON_DMEM_H
#define GPUSHARE_DAEMON_DMEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

#define GS_DMEM_REGION_MAX 128u
#define GS_DMEM_PATH_MAX 512u
#define GS_DMEM_NO_LIMIT UINT64_MAX

/*
 * The region of the PCI device "0000:3b:00.0", its largest if it has several.
 * 0; -1 with the reason: no such controller, none of that device.
 */
int gs_dmem_region(const char *root, const char *pci, char *region, size_t size,
		   struct gs_error *err);

/*
 * The cgroup that Slurm has made for a job, found by one of its slurmstepds';
 * `proc` is /proc.  0; -1 with the reason: the process is in no cgroup of
 * Slurm's, the job has none.
 */
int gs_dmem_cgroup(const char *proc, pid_t slurmstepd, const char *root, uint32_t job, char *cgroup,
		   size_t size, struct gs_error *err);

/*
 * Limit the cgroup to so many bytes of the region; the controller is enabled on
 * the way there.  A cgroup that is gone has no limit.  0; -1 with the reason.
 */
int gs_dmem_limit(const char *root, const char *cgroup, const char *region, uint64_t bytes,
		  struct gs_error *err);

#endif
