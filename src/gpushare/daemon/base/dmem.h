/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's device memory controller (cgroup v2 "dmem", Linux 6.14 and later;
 * Documentation/admin-guide/cgroup-v2.rst). dmem.capacity in the root group has a line per region
 * with its bytes; dmem.max in a group below takes a region and bytes or "max". Where the controller
 * covers a GPU, a Slurm job's reservation is also its limit there. `root` is where the control
 * groups are mounted; cgroups are paths below it, "/system.slice/...".
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

/* Finds the region of the PCI device `pci`, such as "0000:3b:00.0"; the largest if it has several.
 * Returns 0; -1 with the reason: there is no such controller, or no region of that device. */
int gs_dmem_region(const char *root, const char *pci, char *region, size_t size,
		   struct gs_error *err);

/* Finds the cgroup that Slurm has made for a job, by one of the job's slurmstepds; `proc` is /proc.
 * Returns 0; -1 with the reason: the process is in no cgroup of Slurm's, or the job has none. */
int gs_dmem_cgroup(const char *proc, pid_t slurmstepd, const char *root, uint32_t job, char *cgroup,
		   size_t size, struct gs_error *err);

/* Limits the cgroup to `bytes` of the region, and enables the controller in the groups above it.
 * Does nothing if the cgroup is gone. Returns 0; -1 with the reason. */
int gs_dmem_limit(const char *root, const char *cgroup, const char *region, uint64_t bytes,
		  struct gs_error *err);

#endif
