/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MeasureHandover=start: what a hand-over costs on each GPU, measured as the
 * daemon starts.
 *
 * One GPU after another, two programs that are clients like any job's (through
 * the shim, in the configured isolation) exchange it, and the daemon times what
 * it sees (gauge.h); the fastest tenth is where the learning begins, in place of
 * Handover=.  They are children of the daemon without its rights, have a limited
 * time, and are ended when a step wants the GPU.  A GPU with steps is left
 * alone, and what an earlier daemon has measured since the node booted holds.
 */
#ifndef GPUSHARE_DAEMON_MEASURE_H
#define GPUSHARE_DAEMON_MEASURE_H

#include "gpushare/daemon/daemon.h"

struct gs_measure;

/* After the steps from before are known and the socket listens.  NULL: nothing is to be measured, the log says why. */
struct gs_measure *gs_measure_start(struct gs_daemon *d);

/* A step is about to be registered on that GPU: it is not measured any more. */
void gs_measure_yield(struct gs_daemon *d, const struct gs_device *device);

/* End it, and wait for the end of the programs, for at most as long as they may take; NULL is fine. */
void gs_measure_destroy(struct gs_measure *measure);

#endif
