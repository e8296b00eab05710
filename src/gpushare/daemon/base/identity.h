/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the registered step to which a process belongs.
 *
 * It is the step in whose cgroup the process is, whatever its parent and its environment. Only
 * where the cgroups tell nothing (Slurm's proctrack/linuxproc, `gpusharectl run`), it is the step
 * whose registrant is the process's nearest ancestor among all registrants; then the process must
 * belong to the step's user.
 */
#ifndef GPUSHARE_DAEMON_IDENTITY_H
#define GPUSHARE_DAEMON_IDENTITY_H

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/proto/msg.h"

#define GS_PROC_ROOT "/proc"

/* The process to be identified: from SO_PEERCRED, and a hint from its environment. */
struct gs_claim {
	uid_t uid;
	pid_t pid;
	/* its start time; a later process with the same number belongs to no step */
	uint64_t start;
	/* the hint: tells a process of `gpusharectl run` from others in the same job */
	uint32_t job_id;
};

/* Returns the process's step; NULL with the code and the reason. `proc` is GS_PROC_ROOT, except in
 * tests. */
struct gs_step *gs_identify(struct gs_daemon *d, const char *proc, const struct gs_claim *claim,
			    enum gs_refusal *code, struct gs_error *err);

#endif
