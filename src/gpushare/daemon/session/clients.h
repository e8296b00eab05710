/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs' processes: what they say, and their life on the GPU. */
#ifndef GPUSHARE_DAEMON_CLIENTS_H
#define GPUSHARE_DAEMON_CLIENTS_H

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_hello, gs_on_kernel, gs_on_time, gs_on_untracked, gs_on_variant, gs_on_doorbell;

/* A client whose memory is on the host: it has no turn, and keeps its page. */
void gs_client_park(struct gs_connection *conn);
/* It goes on, holding so many bytes that are not in the ledger.  -1: close it. */
int gs_client_return(struct gs_connection *conn, uint64_t bytes);

/* The client is gone: its page, its memory, its task.  A listener of connection.h. */
void gs_client_gone(struct gs_connection *conn);

#endif
