/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SuspendMemory=checkpoint: when Slurm is about to suspend a job, moves the job's memory to the
 * host while the job's processes can still take part in that, and keeps it there until the job is
 * resumed. checkpoint.h does the moving.
 */
#ifndef GPUSHARE_DAEMON_SUSPEND_H
#define GPUSHARE_DAEMON_SUSPEND_H

#include <stdint.h>

#include "gpushare/daemon/base/state.h"

struct gs_alloc;
struct gs_daemon;
struct gs_connection;
struct gs_checkpoint;

/* A connection requests this for a job. It is answered under that tag once each of the job's
 * allocations has been moved or refused, which may be at once. Returns 0; -1: no memory. */
int gs_suspend_begin(struct gs_connection *conn, uint32_t job_id, uint32_t tag);
/* Has the connection a request that is not answered yet? */
int gs_suspend_waits(const struct gs_connection *conn);
/* The job has been resumed: its allocations wait for their memory again. */
void gs_suspend_end(struct gs_daemon *d, uint32_t job_id);
/* The connection that made the request is gone: allocations that have not been moved yet stay. */
void gs_suspend_connection_gone(struct gs_connection *conn);

/* Call while nothing is being moved; now: ns of gs_clock_ns(). Returns 1 if it has begun or changed
 * something. 0: makes *retry_ns earlier if it must be called again before that. */
int gs_suspend_step(struct gs_checkpoint *t, uint64_t now, uint64_t *retry_ns);
/* An allocation cannot be moved. */
void gs_suspend_failed(struct gs_daemon *d, struct gs_alloc *alloc, const char *why);
/* Answers the requests whose jobs are in their final state. */
void gs_suspend_answer(struct gs_daemon *d);

/* The jobs that are suspended in this way, for the state file. */
extern const struct gs_state_part gs_suspend_part;

#endif
