/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpusharectl asks for: reports, and what the history has. */
#ifndef GPUSHARE_DAEMON_QUERY_H
#define GPUSHARE_DAEMON_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_query, gs_on_history;

/* The history has answered (history.h); the bytes are freed here. */
void gs_query_answered(struct gs_daemon *d, uint32_t ticket, char *bytes, size_t size);

/* It waits for no answer.  A listener of connection.h. */
void gs_query_conn_gone(struct gs_connection *conn);

/* At the daemon's end: free the texts that are kept. */
void gs_query_fini(void);

#endif
