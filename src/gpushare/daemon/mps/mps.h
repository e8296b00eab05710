/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Isolation=mps: the daemon owns an MPS control daemon and one MPS server of
 * its own user, which under root serves every user's programs.
 *
 * A client that dies in the middle of a kernel takes the others with it
 * (measured on an H200), so whoever does not leave the GPU when told to is
 * ended through MPS: `terminate_client`.  The control program may take
 * seconds to answer; once the daemon serves, only helper processes talk to it.
 */
#ifndef GPUSHARE_DAEMON_MPS_H
#define GPUSHARE_DAEMON_MPS_H

#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"

/*
 * Start MPS, or take over the one that an earlier daemon left to its jobs,
 * and set d->mps.  Blocks until there is a server (30 s at most).  0 and no
 * d->mps with Isolation=contexts; -1: what is missing.
 */
int gs_mps_start(struct gs_daemon *d, struct gs_error *err);

/*
 * End it: `quit`, then by signal, some seconds at most.  While steps are
 * registered it goes on without the daemon.  Fine without d->mps.
 */
void gs_mps_stop(struct gs_daemon *d);

/* Have MPS end that client, if MpsTerminate says so, once a minute at most; `why` is for the log.
 */
void gs_mps_terminate(struct gs_connection *conn, const char *why);

/* -1 with the reason if the new configuration wants another MPS than the one that runs. */
int gs_mps_check_reload(const struct gs_config *old, const struct gs_config *fresh,
			struct gs_error *err);

#endif
