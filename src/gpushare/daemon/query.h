/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon knows, gathered for the reports. */
#ifndef GPUSHARE_DAEMON_QUERY_H
#define GPUSHARE_DAEMON_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/daemon/daemon.h"

/* The job's summary over its steps on this node; -1 if it has none. */
int gs_query_comment(struct gs_daemon *d, uint32_t job_id, char *buf, size_t size);

/* At the daemon's end: free the texts that are kept. */
void gs_query_fini(struct gs_daemon *d);

#endif
