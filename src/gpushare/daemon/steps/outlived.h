/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that outlive their step: a process that has left its step's container, or that dies
 * slowly. The device memory that it holds is not available to others, so it stays counted until the
 * process is gone: within the allocation while another step of the job has that, and by itself
 * afterwards. The shares are free at once, since Slurm gives them away at once.
 */
#ifndef GPUSHARE_DAEMON_OUTLIVED_H
#define GPUSHARE_DAEMON_OUTLIVED_H

#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/state.h"

struct gs_alloc;

/* Call before the connection of a client is closed whose step has ended: notes its process, if that
 * is alive and holds memory. gs_outlived_keep() then counts its bytes. */
void gs_outlived_note(struct gs_connection *conn);

/* Call once the connections are closed and while the allocation exists: counts in it what was
 * noted. */
void gs_outlived_keep(struct gs_daemon *d, struct gs_alloc *alloc);

/* Call when the allocation's memory has been given back, before it is freed: from now on counts by
 * itself what was counted in it. */
void gs_outlived_leave(struct gs_daemon *d, struct gs_alloc *alloc);

/* Returns the memory of the processes that are gone by now; returns 1 if there were any. */
int gs_outlived_sweep(struct gs_daemon *d);

/* Forgets all of them, at the daemon's end. */
void gs_outlived_fini(struct gs_daemon *d);

/* A line "outlived ..." for each such process. */
extern const struct gs_state_part gs_outlived_part;

#endif
