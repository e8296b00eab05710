/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies what the arbiters know of steps and clients to where the event loop reads it. */
#ifndef GPUSHARE_DAEMON_FIGURES_H
#define GPUSHARE_DAEMON_FIGURES_H

#include "gpushare/daemon/base/daemon.h"

/*
 * Brings up to date: the steps' usages, what the steps do, and gs_connection.counted. with_kernels:
 * also copies the list of kernels; otherwise the last copy stays. What launches have reported of
 * kernels' times goes to d->learned.
 */
void gs_devices_sync(struct gs_daemon *d, int with_kernels);

#endif
