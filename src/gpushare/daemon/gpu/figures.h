/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies what the arbiters know of steps and clients to where the event loop reads it. */
#ifndef GPUSHARE_DAEMON_FIGURES_H
#define GPUSHARE_DAEMON_FIGURES_H

#include "gpushare/daemon/base/daemon.h"

/*
 * Brings up to date: the steps' usages, what the steps do, and gs_connection.counted. kernels_of:
 * also copies the lists of kernels of that job's steps, 0: of none, which keep the last copy: the
 * arbiter decides nothing meanwhile. What launches have reported of kernels' times goes to
 * d->learned.
 */
#define GS_KERNELS_OF_ALL UINT32_MAX
void gs_devices_sync(struct gs_daemon *d, uint32_t kernels_of);

#endif
