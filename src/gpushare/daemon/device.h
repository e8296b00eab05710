/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configured GPUs, each with its arbiter. */
#ifndef GPUSHARE_DAEMON_DEVICE_H
#define GPUSHARE_DAEMON_DEVICE_H

#include "gpushare/daemon/daemon.h"

/* One device per Gpu= line.  0, or -1 with the reason. */
int gs_devices_init(struct gs_daemon *d, struct gs_error *err);
void gs_devices_fini(struct gs_daemon *d);

/* From here on each arbiter has a thread, until _stop.  -1 with the reason. */
int gs_devices_start(struct gs_daemon *d, struct gs_error *err);
void gs_devices_stop(struct gs_daemon *d);

/* Policy and quanta from a fresh configuration.  -1: all stay as they were. */
int gs_devices_reload(struct gs_daemon *d, const struct gs_config *config,
		      struct gs_error *err);

/* The device of that index; NULL. */
struct gs_device *gs_device_find(struct gs_daemon *d, uint32_t index);

/*
 * The environment of a step on that GPU, "A=B\n" lines: the GPU by its UUID,
 * where that is known, the MPS that it is a client of, then the administrator's JobEnv lines, in which %g is
 * the GPU's number.  0; -1: cut.  (register.c)
 */
int gs_device_env(const struct gs_config *config, const struct gs_device *device, char *text,
		  size_t size);

/*
 * The steps' tallies as they are now, with their kernels or with those that were copied last, and gs_peer.counted.  What launches
 * have taught of kernels' times goes to d->learned.
 */
void gs_devices_sync(struct gs_daemon *d, int with_kernels);

#endif
