/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A forked process of the daemon that does what may block, behind a socket pair. */
#ifndef GPUSHARE_DAEMON_CHILD_H
#define GPUSHARE_DAEMON_CHILD_H

#include <sys/types.h>

/*
 * Fork.  The child has nothing of the daemon's but its end of the socket
 * (SOCK_SEQPACKET) and ends when body returns; dies: it is killed when the
 * daemon dies, else it only sees the socket's end.  Returns our end, or -1;
 * *pid is 0 then.
 */
int gs_child_start(pid_t *pid, void (*body)(int sock, const char *arg), const char *arg, int dies);

#endif
