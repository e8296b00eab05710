/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients with kernels that have not left the GPU by EvictDeadline: in MPS they are terminated
 * (MpsTerminate), and with EvictOverdue=kill their job is killed with the reason in its
 * AdminComment; what is no job of Slurm's, or cannot be killed there, loses the process itself.
 */
#ifndef GPUSHARE_DAEMON_OVERDUE_H
#define GPUSHARE_DAEMON_OVERDUE_H

#include <stdint.h>

#include "gpushare/daemon/base/daemon.h"

struct gs_alloc;

/* Deal with such clients of that GPU, and close those whose pages hold what cannot be; from the
 * loop only. */
void gs_verdicts_execute(struct gs_daemon *d, struct gs_device *device);

/* Slurm did not kill the job: its clients' processes are killed. */
void gs_overdue_not_killed(struct gs_daemon *d, uint32_t job_id);

/*
 * A checkpoint listener (checkpoint.h): the memory of a job's process is lost on the
 * host.  The job is requeued, or ended if it may not be.  0: it is none of
 * Slurm's, or slurmctld cannot be told.
 */
int gs_overdue_lost(struct gs_daemon *d, struct gs_alloc *alloc, const char *why);

#endif
