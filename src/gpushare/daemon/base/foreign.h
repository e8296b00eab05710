/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors that users pass to the daemon.  Closing one may take as long as
 * its maker likes: the last close of a TCP socket with SO_LINGER waits for
 * data to be sent, and that of a file in a FUSE file system waits for the
 * user's own process.  So the daemon never does either.  It takes no
 * descriptor but a page, which it knows to be one before it is installed, and
 * a socket in which others may still be is closed by a process that ends: the
 * kernel lets nobody wait then (socket(7)).
 *
 * For one thread: that of the event loop.
 */
#ifndef GPUSHARE_DAEMON_BASE_FOREIGN_H
#define GPUSHARE_DAEMON_BASE_FOREIGN_H

#include <sys/types.h>

#include "gpushare/proto/msg.h"

/*
 * 1 if the next message in the socket brings descriptors, 0 if it does not, -1 with errno if there
 * is no message; one that comes later has not been looked at then.  It stays where it is.
 * *header: the message's, not checked; zeros where it has none.
 */
int gs_foreign_comes(int sock, struct gs_msg_header *header);

/*
 * 1 if what comes along with the next message is a memfd that is sealed as a
 * page is, and nothing else; a process of its own looks.  The message stays
 * where it is.  user: who pays for the connection (connection.h).  A file that does not let its
 * last holder go, as one of a FUSE file system may, holds up the process that has looked at it.  A
 * user whose files hold up four of them brings no page, and 0 is returned at once, until one ends.
 */
int gs_foreign_is_page(int sock, uid_t user);

/*
 * Close a socket that users write to, or one that listens for them.  Its other end sees that at
 * once; the descriptor may stay open until gs_foreign_sweep().
 */
void gs_foreign_close(int sock);

/*
 * Before the first connection: keep two descriptors, which are given up for a moment where no other
 * is left. Without, no connection could be closed then, and none would become free.
 */
void gs_foreign_keep_spares(void);

/* Close what waits to be closed; several times a second, and at the end. */
void gs_foreign_sweep(void);

#endif
