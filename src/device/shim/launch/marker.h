/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The markers around a launch that goes out as the program wrote it: that its kernel has started,
 * and that it is done.
 *
 * Mostly the GPU writes them into the launch's slot.  But a stream memory operation that waits
 * behind a kernel, and an event that takes the time, keep the context on the GPU until its time
 * slice is over.  A kernel alone, or with a plain event behind it, gives way at once to a context
 * that comes (doc/measurements/h100-markers.csv).  So while somebody more urgent may come, the end
 * of a long kernel is found by asking for a plain event.  Under MPS there are no time slices, and
 * the GPU writes every end.
 */
#ifndef GPUSHARE_SHIM_MARKER_H
#define GPUSHARE_SHIM_MARKER_H

#include "device/shim/launch/pool.h"

/*
 * Decides, before anything of launch l is enqueued, whether its end is to be asked for so that it
 * gives way to other contexts.  Such a launch is not timed.
 */
void shim_marker_choose(struct shim_session *s, struct shim_launch *l);

/* Says in `stream`, in front of launch l's kernel, that it has started.  The context is current. */
CUresult shim_marker_started(struct shim_launch *l, CUstream stream);

/* Sees to it, behind the kernel, that its end is known. */
CUresult shim_marker_ended(struct shim_launch *l, CUstream stream);

/* Any thread: if the launch that must be asked for has ended, its slot moves to DONE. */
void shim_marker_poll(void);

/* The launch is given back: nobody asks for it any more. */
void shim_marker_forget(struct shim_launch *l);

#endif
