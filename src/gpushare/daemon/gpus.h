/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making the configured GPUs, each with its arbiter. */
#ifndef GPUSHARE_DAEMON_GPUS_H
#define GPUSHARE_DAEMON_GPUS_H

#include "gpushare/daemon/base/daemon.h"

/* One device per Gpu= line; its arbiter tells of its news by news_fd.  0, or -1 with the reason. */
int gs_devices_init(struct gs_daemon *d, int news_fd, struct gs_error *err);
void gs_devices_fini(struct gs_daemon *d);

/* From here on each arbiter has a thread, until _stop.  -1 with the reason. */
int gs_devices_start(struct gs_daemon *d, struct gs_error *err);
void gs_devices_stop(struct gs_daemon *d);

/* Policy and quanta from a fresh configuration.  -1: all stay as they were. */
int gs_devices_reload(struct gs_daemon *d, const struct gs_config *config, struct gs_error *err);

#endif
