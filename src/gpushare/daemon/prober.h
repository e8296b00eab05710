/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running handover-probe: two programs, as a job's would be, without the daemon's rights. */
#ifndef GPUSHARE_DAEMON_PROBER_H
#define GPUSHARE_DAEMON_PROBER_H

#include <sys/types.h>

#include "common/error.h"

struct gs_daemon;
struct gs_device;

/*
 * Start it on that GPU as step 0 of that job, which is not registered yet.
 * Returns a socket that it and its children have the other end of, and on which they say
 * what goes wrong; *pid leads their process group, *uid is whose they are.  -1: with the reason.
 */
int gs_prober_start(struct gs_daemon *d, const struct gs_device *device, unsigned job_id,
		    pid_t *pid, uid_t *uid, struct gs_error *err);

#endif
