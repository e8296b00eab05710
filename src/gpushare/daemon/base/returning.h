/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that an earlier gpushared had as clients, as the state file names them. Most come
 * back to this one within a quarter of a second; one that is stopped comes back when it goes on,
 * and one that is refused never does. Until then this daemon does not know how much memory they
 * have.
 */
#ifndef GPUSHARE_DAEMON_RETURNING_H
#define GPUSHARE_DAEMON_RETURNING_H

#include <stdint.h>
#include <sys/types.h>

#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"

/* A program of an earlier daemon that uses this allocation, lives, and has not come back; 0: there
 * is none. */
pid_t gs_returning_of(const struct gs_alloc *alloc);

/* A program of an earlier daemon has its memory back on the GPU, and is not connected yet. */
void gs_returning_expect(struct gs_daemon *d, const struct gs_alloc *alloc, pid_t pid,
			 uint64_t start);

/* Adds to the step's usage the launches and copies of its programs that have not come back. They
 * tell of all of them again when they do. */
void gs_returning_add(struct gs_step *step);
/* The part of that whose programs live. In the state file it is in the programs' lines, and must
 * not be in the step's as well. */
struct gs_counted gs_returning_counted(const struct gs_step *step);

/* Until then programs are on their way back, also those of a daemon that did not name them, ns of
 * gs_clock_ns(); 0: this daemon began without steps. */
uint64_t gs_returning_until_ns(void);

/* The connection has become a client: if it is one of these programs it has come back. The state
 * file names it from now on. tells_again: it has brought its page, which has all that it had. */
void gs_returning_joined(struct gs_connection *conn, int tells_again);
/* A client is gone: the state file need not name it any more. A listener of connection.h, before
 * the one that takes the client's step away. */
void gs_returning_gone(struct gs_connection *conn);

/* Call now and then: logs once which steps still wait for programs when most have come back. */
void gs_returning_sweep(struct gs_daemon *d);
/* The allocation is over. A listener of steps.h. */
void gs_returning_alloc_gone(struct gs_daemon *d, struct gs_alloc *alloc);
/* The daemon ends: forgets them. */
void gs_returning_fini(void);

extern const struct gs_state_part gs_returning_part;

#endif
