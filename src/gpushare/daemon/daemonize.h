/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running in the background: the process that was started stays until the daemon is ready or has
 * failed, and its exit status tells which. */
#ifndef GPUSHARE_DAEMON_DAEMONIZE_H
#define GPUSHARE_DAEMON_DAEMONIZE_H

#include "common/error.h"

/*
 * Forks. In the parent it never returns: it waits for the child's report and exits 0, or prints the
 * child's error on standard error and exits 1. In the child it returns the descriptor for that
 * report, or -1 with the reason.
 */
int gs_daemonize(struct gs_error *err);

/* Reports that the daemon is ready. ready_fd -1: it runs in the foreground, and notifies a service
 * manager that has set NOTIFY_SOCKET (systemd, Type=notify). */
void gs_daemon_ready(int ready_fd);

/* Reports that the daemon has failed: the parent prints the reason. */
void gs_daemon_failed(int ready_fd, const char *reason);

/* Writes the pid file; path "": none is wanted. Returns 0; -1 with the reason. */
int gs_pid_file_write(const char *path, struct gs_error *err);
void gs_pid_file_remove(const char *path);

#endif
