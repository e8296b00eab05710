/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helper processes: forked from the daemon to do what may block, and connected to it by a socket
 * pair. */
#ifndef GPUSHARE_DAEMON_CHILD_H
#define GPUSHARE_DAEMON_CHILD_H

#include <sys/types.h>

/*
 * Forks a child that calls body(sock, arg) and ends when it returns. Of the daemon's descriptors
 * the child keeps only its end of the socket (SOCK_SEQPACKET). dies: the child is killed when the
 * daemon dies; otherwise it only sees the end of the socket. Returns the daemon's end, which the
 * caller closes, or -1, and then *pid is 0.
 */
int gs_child_start(pid_t *pid, void (*body)(int sock, const char *arg), const char *arg, int dies);

/* The daemon allows itself so many descriptors: connections, their processes' pidfds, its own. */
#define GS_DESCRIPTORS_MOST 65536

/* In a forked child: closes every open descriptor from the first to the last. Kernels before 5.9
 * have no close_range(): there each number below the daemon's limit is tried. */
void gs_child_close(int first, int last);

/* In a forked child: the signals that the daemon handles do again what they do by default, and none
 * is blocked. */
void gs_child_default_signals(void);

/*
 * Kills the child and waits for its end, for 100 ms at most: one that hangs in a driver's kernel
 * module does not end, and stays a zombie of the daemon's once it does.
 */
void gs_child_kill(pid_t pid);

#endif
