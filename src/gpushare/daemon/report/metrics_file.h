/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MetricsFile of gpushare.conf. */
#ifndef GPUSHARE_DAEMON_METRICS_FILE_H
#define GPUSHARE_DAEMON_METRICS_FILE_H

#include "gpushare/daemon/base/daemon.h"

/*
 * Write it, for readers as a whole: a file of its name with ".new" behind it
 * takes its place.  No MetricsFile: nothing.  A failure is logged once, until it works again.
 */
void gs_metrics_file_write(struct gs_daemon *d);

#endif
