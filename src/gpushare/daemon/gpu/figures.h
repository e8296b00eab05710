/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the arbiters know of steps and clients, brought to where the event loop reads it. */
#ifndef GPUSHARE_DAEMON_FIGURES_H
#define GPUSHARE_DAEMON_FIGURES_H

#include "gpushare/daemon/base/daemon.h"

/*
 * The steps' usages and what they do as they are now, with their kernels or with those that were
 * copied last, and gs_connection.counted.  What launches have taught of kernels' times goes to
 * d->learned.
 */
void gs_devices_sync(struct gs_daemon *d, int with_kernels);

#endif
