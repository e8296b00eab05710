/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that outlive their step: one that has left its step's container, or
 * is slow to die.  The device memory that such a process holds is not there for
 * others, so it stays counted until the process is gone: within the
 * allocation while another of the job's steps has that, by itself afterwards.
 * The shares go back at once, as Slurm gives them away at once.
 */
#ifndef GPUSHARE_DAEMON_OUTLIVED_H
#define GPUSHARE_DAEMON_OUTLIVED_H

#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/state.h"

struct gs_alloc;

/*
 * The connection of a client whose step is over, before it is closed: note its
 * process, if that lives and holds memory.  Its bytes are counted from
 * gs_outlived_keep() on.
 */
void gs_outlived_note(struct gs_connection *conn);

/* The connections are closed and the allocation is still there: count what was noted in it. */
void gs_outlived_keep(struct gs_daemon *d, struct gs_alloc *alloc);

/* The allocation's memory has been given back; it is about to be freed: count by itself what was
 * counted in it. */
void gs_outlived_leave(struct gs_daemon *d, struct gs_alloc *alloc);

/* Give back what the processes that are gone by now had; 1 if there were any. */
int gs_outlived_sweep(struct gs_daemon *d);

/* Forget all of them, at the daemon's end. */
void gs_outlived_fini(struct gs_daemon *d);

/* A line "outlived ..." of each such process. */
extern const struct gs_state_part gs_outlived_part;

#endif
