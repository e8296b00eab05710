/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop, its timers and its signals. */
#ifndef GPUSHARE_DAEMON_LOOP_H
#define GPUSHARE_DAEMON_LOOP_H

#include "gpushare/daemon/base/daemon.h"

/*
 * Makes the event base, the timers and the signal handlers (SIGTERM, SIGINT, SIGHUP). config_path
 * is read again at SIGHUP; the caller keeps it. Returns 0, or -1 with the reason; call
 * gs_loop_fini() in any case.
 */
int gs_loop_init(struct gs_daemon *d, const char *config_path, struct gs_error *err);
/* The eventfd that an arbiter writes to when the loop must look after a client. */
int gs_loop_news_fd(const struct gs_daemon *d);
void gs_loop_fini(struct gs_daemon *d);

/* Runs until a signal tells it to stop. The daemon's lock is held, except while the loop sleeps. */
void gs_loop_run(struct gs_daemon *d);

/* Reads the configuration again (SIGHUP); an invalid one changes nothing. */
void gs_reload(struct gs_daemon *d);

#endif
