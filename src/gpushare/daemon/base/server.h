/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The listening socket. There is one daemon per path; any user may connect, but only a limited
 * number of times. */
#ifndef GPUSHARE_DAEMON_SERVER_H
#define GPUSHARE_DAEMON_SERVER_H

#include "gpushare/daemon/base/daemon.h"

/*
 * Takes the lock <socket>.lock, removes the socket of a daemon that has died, and listens. Makes
 * the socket's folder if it is missing (mode 0755). Accepts nothing yet. Returns 0; -1 with the
 * reason, such as another daemon that has the lock.
 */
int gs_server_listen(struct gs_daemon *d, struct gs_error *err);

/* Accepts connections from now on. Returns 0; -1 with the reason. */
int gs_server_start(struct gs_daemon *d, struct gs_error *err);

/* Closes every connection, removes the socket and releases the lock. */
void gs_server_fini(struct gs_daemon *d);

#endif
