/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop: its timers and signals, and one decision per turn. */
#ifndef GPUSHARE_DAEMON_LOOP_H
#define GPUSHARE_DAEMON_LOOP_H

#include "gpushare/daemon/base/daemon.h"

/*
 * The event base, the timers and the signals (SIGTERM, SIGINT, SIGHUP).  config_path is read
 * again at SIGHUP; the caller keeps it.  -1 with the reason; _fini is due in any case.
 */
int gs_loop_init(struct gs_daemon *d, const char *config_path, struct gs_error *err);
/* What an arbiter writes to when the loop must look after a client. */
int gs_loop_news_fd(const struct gs_daemon *d);
void gs_loop_fini(struct gs_daemon *d);

/* Until a signal says stop; with the daemon's lock held, but while it sleeps. */
void gs_loop_run(struct gs_daemon *d);

/* SIGHUP: the configuration again; a bad one changes nothing. */
void gs_reload(struct gs_daemon *d);

#endif
