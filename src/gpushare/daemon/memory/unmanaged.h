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
	unsigned times; /* that it has been listed, one after the other */
	int killed;
};

struct gs_unmanaged_list {
	struct gs_unmanaged process[GS_UNMANAGED_MAX];
	size_t n;
};

/*
 * What NVML says now.  A process that is found for the second time gets its line in the log and,
 * with Unmanaged=kill, its end if it belongs to a job: a client that comes or goes is found
 * once at most.  GPUs on which no step has shares are left out.
 */
void gs_unmanaged_update(struct gs_unmanaged_list *list, struct gs_daemon *d,
			 const struct gs_nvml_answer *answer);

/* Is it to be reported, or has it been found only once? */
int gs_unmanaged_is_reported(const struct gs_unmanaged *process);

#endif
