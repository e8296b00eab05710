/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs' processes: their messages, and their life as clients of a GPU. */
#ifndef GPUSHARE_DAEMON_CLIENTS_H
#define GPUSHARE_DAEMON_CLIENTS_H

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_hello, gs_on_kernel, gs_on_time, gs_on_untracked, gs_on_variant, gs_on_doorbell;

/* The client's memory is on the host: takes it off the GPU's arbiter, but keeps its page. */
void gs_client_park(struct gs_connection *conn);
/* The client's memory is back: it continues, and holds `bytes` that the ledger does not have yet.
 * -1: close the connection. */
int gs_client_return(struct gs_connection *conn, uint64_t bytes);

/* The client is gone: frees its page, its memory and its task. A listener of connection.h. */
void gs_client_gone(struct gs_connection *conn);

#endif
