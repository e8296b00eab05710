/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The listening socket: one daemon per path, anybody may connect, not endlessly. */
#ifndef GPUSHARE_DAEMON_SERVER_H
#define GPUSHARE_DAEMON_SERVER_H

#include "gpushare/daemon/base/daemon.h"

/*
 * Take the lock <socket>.lock, or say that another daemon has it; replace
 * what is left of a dead daemon's socket; listen.  Makes the socket's folder
 * if it is missing (mode 0755).  Nothing is accepted yet.
 */
int gs_server_listen(struct gs_daemon *d, struct gs_error *err);

/* Accept from now on. */
int gs_server_start(struct gs_daemon *d, struct gs_error *err);

/* Close every connection, remove the socket, give the lock back. */
void gs_server_fini(struct gs_daemon *d);

#endif
