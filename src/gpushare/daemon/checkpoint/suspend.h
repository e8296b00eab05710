/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SuspendMemory=checkpoint: the memory of a job that Slurm is about to suspend
 * goes to the host while the job's processes can still take part in that, and
 * stays there until the job has been resumed.  The moving is checkpoint.h's.
 */
#ifndef GPUSHARE_DAEMON_SUSPEND_H
#define GPUSHARE_DAEMON_SUSPEND_H

#include <stdint.h>

#include "gpushare/daemon/base/state.h"

struct gs_alloc;
struct gs_daemon;
struct gs_connection;
struct gs_checkpoint;

/*
 * The connection has asked for it; it is answered under that tag once each of the
 * job's allocations has left or has been refused, which may be at once.  -1: no memory.
 */
int gs_suspend_begin(struct gs_connection *conn, uint32_t job_id, uint32_t tag);
/* Has the connection asked, and not been answered yet? */
int gs_suspend_waits(const struct gs_connection *conn);
/* The job has been resumed: its allocations wait for their memory again. */
void gs_suspend_end(struct gs_daemon *d, uint32_t job_id);
/* Whoever asked has gone: what has not left by now is not to leave any more. */
void gs_suspend_connection_gone(struct gs_connection *conn);

/* Nothing is being moved: 1, something has been begun or has changed. */
int gs_suspend_step(struct gs_checkpoint *t);
/* An allocation cannot leave. */
void gs_suspend_failed(struct gs_daemon *d, struct gs_alloc *alloc, const char *why);
/* Answer those whose job is as it is to be. */
void gs_suspend_answer(struct gs_daemon *d);

/* The jobs that are suspended so, for the state file. */
extern const struct gs_state_part gs_suspend_part;

#endif
