/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that use a shared GPU without being clients, as NVML lists them: a program with a copy
 * of the driver, a program of a job without shares, one that was started by hand. */
#ifndef GPUSHARE_DAEMON_UNMANAGED_H
#define GPUSHARE_DAEMON_UNMANAGED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"

#define GS_UNMANAGED_MAX \
	64 /* how many are listed at a time; the others come with the next list \
	    */

struct gs_nvml_answer;

struct gs_unmanaged {
	pid_t pid;
	uint64_t start; /* start time of that process (proc.h) */
	uint32_t gpu;
	uint64_t bytes;   /* bytes of device memory */
	uint32_t job_id;  /* 0: it belongs to no registered step */
	uint32_t step_id; /* if job_id is not 0 */
	uid_t uid;
	char program[16];
	uint64_t since_ns; /* since when NVML has listed it without a break */
	int reported;
	int killed;
};

struct gs_unmanaged_list {
	struct gs_unmanaged process[GS_UNMANAGED_MAX];
	size_t n;
};

/*
 * Updates the list with an answer of NVML. A process that has been listed for a third of the
 * interval at which NVML is asked is logged and, with Unmanaged=kill, killed if it belongs to a
 * job. The delay is needed since a client that is just ending is no client any more but may still
 * be listed. GPUs on which no step has shares are left out.
 * Returns 1 if there is a process that has not been listed for long enough yet, else 0.
 */
int gs_unmanaged_update(struct gs_unmanaged_list *list, struct gs_daemon *d,
			const struct gs_nvml_answer *answer);

#endif
