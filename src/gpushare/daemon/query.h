/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of several packets. */
#ifndef GPUSHARE_DAEMON_QUERY_H
#define GPUSHARE_DAEMON_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/daemon/daemon.h"

/* Send these bytes, which are freed then, as TEXT messages.  -1: close the peer. */
int gs_query_answer(struct gs_peer *peer, uint32_t tag, char *bytes, size_t size);

/* At the daemon's end: free the texts that are kept. */
void gs_query_fini(struct gs_daemon *d);

#endif
