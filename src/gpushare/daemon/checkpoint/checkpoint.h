/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes device memory back. While the first waiting allocation does not fit, admitted allocations
 * of lower priority are checkpointed to host memory: their clients are parked, and their
 * reservation goes to the one that waits. They then wait for memory themselves, and continue where
 * they were once they are admitted again (MemoryPreempt, gpushare.conf(5)).
 *
 * One process at a time is moved, by gpushare-mem (checkpointer.h). gs_checkpoint_why() tells the
 * user of an allocation that got no memory why. All functions need the loop's lock (event.h).
 */
#ifndef GPUSHARE_DAEMON_CHECKPOINT_H
#define GPUSHARE_DAEMON_CHECKPOINT_H

#include <stdint.h>

#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/base/daemon.h"

struct gs_alloc;
struct gs_connection;
struct gs_checkpoint;

/* The caller destroys it. NULL: no memory. */
struct gs_checkpoint *gs_checkpoint_create(struct gs_daemon *d);
/* NULL is fine. A move that is under way still runs to its end. */
void gs_checkpoint_destroy(struct gs_checkpoint *t);

/* Call after each admission: begins moves where needed. Returns when it must be called again at the
 * latest, ns; UINT64_MAX: only when something happens. */
uint64_t gs_checkpoint_step(struct gs_daemon *d, uint64_t now);

/* The connection is being closed: its process is gone, or is no client any longer. */
void gs_checkpoint_connection_gone(struct gs_connection *conn);
/* The allocation has ended. */
void gs_checkpoint_alloc_gone(struct gs_daemon *d, struct gs_alloc *alloc);

/* Appends to buf why a waiting allocation got no memory this way. */
void gs_checkpoint_why(const struct gs_alloc *alloc, char *buf, size_t size);

/* Called when a process's memory can never return. Returns 1 if it has had the allocation's job
 * ended, with this reason; 0: it could not, and the process is killed. */
typedef int gs_checkpoint_lost_listener(struct gs_daemon *d, struct gs_alloc *alloc,
					const char *why);
/* Sets that listener, at the daemon's start. */
void gs_checkpoint_on_lost(gs_checkpoint_lost_listener *listener);

/* For its lines of the state file see gs_checkpoint_part (away.h). */

#endif
