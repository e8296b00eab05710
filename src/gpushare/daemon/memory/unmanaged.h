/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that use a shared GPU and are no clients of ours, as NVML lists them: a program with a
 * copy of the driver, one of a job without shares, one that was started by hand.
 */
#ifndef GPUSHARE_DAEMON_UNMANAGED_H
#define GPUSHARE_DAEMON_UNMANAGED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"

#define GS_UNMANAGED_MAX 64 /* listed at a time; more are in the next list */

struct gs_nvml_answer;

struct gs_unmanaged {
	pid_t pid;
	uint64_t start; /* of that process */
	uint32_t gpu;
	uint64_t bytes;   /* of device memory */
	uint32_t job_id;  /* 0: of no registered step */
	uint32_t step_id; /* if there is a job */
	uid_t uid;
	char program[16];
	uint64_t since_ns; /* listed without a break */
	int reported;
	int killed;
};

struct gs_unmanaged_list {
	struct gs_unmanaged process[GS_UNMANAGED_MAX];
	size_t n;
};

/*
 * What NVML says now.  A process that has been listed for half of the interval at which NVML is
 * asked gets its line in the log and, with Unmanaged=kill, is killed if it belongs to a job.  The
 * delay is there because a client that is just ending is no client any more but may still be
 * listed.  GPUs on which no step has shares are left out.
 */
void gs_unmanaged_update(struct gs_unmanaged_list *list, struct gs_daemon *d,
			 const struct gs_nvml_answer *answer);

#endif
