/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What connection.c needs to know of a text that is being sent (gs_connection_send_text()). */
#ifndef GPUSHARE_DAEMON_CONNECTION_TEXT_H
#define GPUSHARE_DAEMON_CONNECTION_TEXT_H

#include "gpushare/daemon/base/connection.h"

/* Forgets what has not been sent yet. */
void gs_connection_drop_text(struct gs_connection *conn);
/* The callback of conn->writable. */
void gs_connection_on_writable(int fd, short what, void *arg);

#endif
