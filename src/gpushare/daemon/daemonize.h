/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Going into the background honestly: the process that was started stays
 * until the daemon can serve or has failed, and its exit status says which.
 */
#ifndef GPUSHARE_DAEMON_DAEMONIZE_H
#define GPUSHARE_DAEMON_DAEMONIZE_H

#include "common/error.h"

/*
 * Fork.  In the parent it never returns: it waits for the child's word and
 * exits 0, or prints the child's error on standard error and exits 1.  In the
 * child it returns the descriptor for that word, or -1 with the reason.
 */
int gs_daemonize(struct gs_error *err);

/*
 * The child can serve.  ready_fd -1: it is in the foreground, and a service manager
 * that set NOTIFY_SOCKET (systemd, Type=notify) is told.
 */
void gs_daemon_ready(int ready_fd);

/* It cannot: the parent prints the reason. */
void gs_daemon_failed(int ready_fd, const char *reason);

/* Write the pid file (path "" is fine: none); -1 with the reason. */
int gs_pid_file_write(const char *path, struct gs_error *err);
void gs_pid_file_remove(const char *path);

#endif
