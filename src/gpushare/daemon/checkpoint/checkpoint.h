/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking device memory back: while the first of those that wait for memory
 * does not fit, admitted allocations of lower priority are checkpointed to the
 * host's memory, their clients parked, and their reservation goes to the one
 * that waits; they then wait for memory themselves, and go on where they were
 * once they are admitted again (MemoryPreempt, gpushare.conf(5)).
 *
 * One process at a time is moved, by gpushare-mem (checkpointer.h).  Who has got no
 * memory this way reads why (gs_checkpoint_why).
 */
#ifndef GPUSHARE_DAEMON_CHECKPOINT_H
#define GPUSHARE_DAEMON_CHECKPOINT_H

#include <stdint.h>

#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/base/daemon.h"

struct gs_alloc;
struct gs_connection;
struct gs_checkpoint;

/* NULL: no memory. */
struct gs_checkpoint *gs_checkpoint_create(struct gs_daemon *d);
void gs_checkpoint_destroy(struct gs_checkpoint *t); /* NULL is fine; what is moved at the moment is
							moved to the end */

/*
 * After each admission: begin what there is to do.  When it must be called
 * again at the latest, ns; UINT64_MAX: when something happens.
 */
uint64_t gs_checkpoint_step(struct gs_daemon *d, uint64_t now);

/* The connection's process is gone, or is none of ours any longer. */
void gs_checkpoint_connection_gone(struct gs_connection *conn);
/* The allocation is over. */
void gs_checkpoint_alloc_gone(struct gs_daemon *d, struct gs_alloc *alloc);

/* Append to buf what is to be said of a waiting allocation. */
void gs_checkpoint_why(const struct gs_alloc *alloc, char *buf, size_t size);

/*
 * The process's memory never comes back: whoever can ends its job, in which
 * case 1, with the reason.  0: nobody could, so the process is to be killed.
 */
typedef int gs_checkpoint_lost_listener(struct gs_daemon *d, struct gs_alloc *alloc,
					const char *why);
/* At the daemon's start. */
void gs_checkpoint_on_lost(gs_checkpoint_lost_listener *listener);

/* Its lines of the state file are gs_checkpoint_part (away.h). */

#endif
