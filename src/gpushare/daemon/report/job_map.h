/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DcgmJobDir of gpushare.conf: which jobs are on which GPU, for dcgm-exporter, which puts them into
 * the label hpc_job of its metrics (--hpc-job-mapping-dir).  A file for each GPU, named by its
 * number, has the jobs' ids, a line for each.
 */
#ifndef GPUSHARE_DAEMON_JOB_MAP_H
#define GPUSHARE_DAEMON_JOB_MAP_H

#include "gpushare/daemon/base/daemon.h"

/* Write the files that are no longer right.  No DcgmJobDir: nothing.  A failure is logged once. */
void gs_job_map_update(struct gs_daemon *d);

#endif
