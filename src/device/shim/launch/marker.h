/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The markers around a launch that goes out as the program wrote it. They say that its kernel has
 * started, and that it is done.
 *
 * Mostly the GPU writes them into the launch's slot. But a stream memory operation that waits
 * behind a kernel, or an event that takes the time, keeps the context on the GPU until its time
 * slice is over. A kernel alone, or with a plain event behind it, gives way at once to a context
 * that comes (doc/measurements/h100-markers.csv). So while a more urgent client may come, a long
 * kernel gets a plain event, which the shim polls. Under MPS there are no time slices of the
 * driver, and the GPU writes every end.
 */
#ifndef GPUSHARE_SHIM_MARKER_H
#define GPUSHARE_SHIM_MARKER_H

#include "device/shim/launch/pool.h"

/* Decides, before anything of launch l is enqueued, whether the shim must poll its end, so that the
 * launch gives way to other contexts. Such a launch is not timed. */
void shim_marker_choose(struct shim_session *s, struct shim_launch *l);

/* Enqueues the marker in front of launch l's kernel; stops: behind a wait at which the launch may
 * be stopped. The context must be current. Returns the driver's answer. */
CUresult shim_marker_started(struct shim_launch *l, CUstream stream, int stops);

/*
 * Enqueues the marker behind the kernel, or the event that is polled. Returns the driver's answer.
 */
CUresult shim_marker_ended(struct shim_launch *l, CUstream stream);

/* If the launch that must be polled has ended, moves its slot to DONE. Any thread may call it. */
void shim_marker_poll(void);

/* The launch is given back, so it is not polled any more. */
void shim_marker_forget(struct shim_launch *l);

#endif
