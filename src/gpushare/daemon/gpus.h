/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the configured GPUs, each with its arbiter. */
#ifndef GPUSHARE_DAEMON_GPUS_H
#define GPUSHARE_DAEMON_GPUS_H

#include "gpushare/daemon/base/daemon.h"

/* Makes a device for each Gpu= line; its arbiter writes to news_fd when there is news. Returns 0,
 * or -1 with the reason. */
int gs_devices_init(struct gs_daemon *d, int news_fd, struct gs_error *err);
void gs_devices_fini(struct gs_daemon *d);

/*
 * Starts the thread of each arbiter; gs_devices_stop() ends them. Returns 0, or -1 with the reason.
 */
int gs_devices_start(struct gs_daemon *d, struct gs_error *err);
void gs_devices_stop(struct gs_daemon *d);

/* Takes over policies and quanta from a new configuration. Returns 0; -1 with the reason, and then
 * nothing has changed. */
int gs_devices_reload(struct gs_daemon *d, const struct gs_config *config, struct gs_error *err);

#endif
