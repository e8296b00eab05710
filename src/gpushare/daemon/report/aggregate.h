/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `gpusharectl report` with a selection: which steps, and a line per step,
 * job, user, partition or GPU.  Pure.
 */
#ifndef GPUSHARE_DAEMON_AGGREGATE_H
#define GPUSHARE_DAEMON_AGGREGATE_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/proto/msg.h"
#include "gpushare/proto/user_name.h"

/* A step as the history keeps it; it also travels between daemon and helper. */
struct gs_past_step {
	uint32_t job, step, gpu, shares;
	char user[GS_USER_NAME_MAX];
	char partition[64];
	int64_t start_s, end_s; /* of the epoch; end 0: not over yet */
	char state[12];         /* as gs_step_state(); not in the file: "", it is over */
	int32_t priority;       /* not in the file: -1 */
	uint64_t kernels, preemptions;
	double active_ms, waiting_ms, turnaround_ms;
	double evict_p50_us, evict_p99_us;
	double memory_mb, reserved_mb;
	uint64_t program; /* common/program.h; 0: not known */
};

/* 1 if the question selects the step. */
int gs_past_step_selected(const struct gs_past_step *step, const struct gs_msg_history *request);

/* The answer from the selected ones among n steps, to be freed; NULL: no memory. */
char *gs_aggregate(const struct gs_past_step *step, size_t n, const struct gs_msg_history *request);

#endif
