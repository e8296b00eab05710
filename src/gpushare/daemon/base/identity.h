/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which registered step a process belongs to.
 *
 * It belongs to the step in whose cgroup it is, whoever its parent is by now
 * and whatever its environment says.  Only where the cgroups say nothing
 * (Slurm's proctrack/linuxproc, `gpusharectl run`) it belongs to the step
 * whose registrant is its nearest ancestor among the registrants; it must
 * then be the step's user's.
 */
#ifndef GPUSHARE_DAEMON_IDENTITY_H
#define GPUSHARE_DAEMON_IDENTITY_H

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/proto/msg.h"

#define GS_PROC_ROOT "/proc"

/* Who asks: by SO_PEERCRED, and what its environment says, which is a hint only. */
struct gs_claim {
	uid_t uid;
	pid_t pid;
	uint64_t start;  /* of that process; it is nobody's once another has its number */
	uint32_t job_id; /* the hint: within a job it tells who is of `gpusharectl run` */
};

/*
 * The process's step; NULL with the code and the reason.  `proc` is where the
 * processes are found, GS_PROC_ROOT but for tests.
 */
struct gs_step *gs_identify(struct gs_daemon *d, const char *proc, const struct gs_claim *claim,
			    enum gs_refusal *code, struct gs_error *err);

#endif
