/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closed connections whose peer has not read what was sent to it. What is unread stays in the
 * kernel for as long as the peer keeps its socket, descriptors too, and the kernel lets gpushared's
 * user have only so many of those under way. So such a connection still counts as one of its
 * user's. For the event loop's thread only.
 */
#ifndef GPUSHARE_DAEMON_BASE_UNREAD_H
#define GPUSHARE_DAEMON_BASE_UNREAD_H

#include <sys/types.h>

/* Has the peer something to read that was sent to it? */
int gs_unread_is(int sock);

/* Closes the socket. A peer that has something to read reads that and then sees the end; the
 * descriptor stays open until it has read it or is gone. */
void gs_unread_close(int sock, uid_t uid);

/* How many there are, and how many are this user's. */
unsigned gs_unread_count(void);
unsigned gs_unread_of(uid_t uid);

/* Closes those that have been read; to be called some times a second. */
void gs_unread_sweep(void);
/* Closes all. */
void gs_unread_fini(void);

#endif
