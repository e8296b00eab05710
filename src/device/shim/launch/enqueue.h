/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a launch enqueues in its stream: the kernel as written or its variant, and the operations
 * around it. All functions return the driver's answer; the launch's context must be current. */
#ifndef GPUSHARE_SHIM_ENQUEUE_H
#define GPUSHARE_SHIM_ENQUEUE_H

#include "device/shim/launch/request.h"

/* Makes the program's own call, unchanged. */
CUresult shim_enqueue_as_written(const struct shim_request *r);

/* Enqueues launch l in a critical section, so that nothing of another preemptible launch comes in
 * between (context/order.h). */
CUresult shim_enqueue(struct shim_session *s, struct shim_launch *l, const struct shim_request *r);

/* Enqueues launch l behind a wait for its time slice (grant.h). l->preenqueued says whether
 * the driver accepted the wait; only then is the return value that of the launch. */
CUresult shim_enqueue_waiting(struct shim_launch *l, const struct shim_request *r);

/* The driver refused launch l, or it is not to be made any more. Gives l back; if a wait for its
 * time slice is in the stream already, lets that wait end first. */
void shim_enqueue_refused(struct shim_launch *l, const struct shim_request *r);

/* Launch what watches for the order to leave, and then the variant (first or again) in `stream`;
 * the context must be current. A launch that waits in its stream for the time slice is watched
 * when it has got that. */
void shim_watch_variant(struct shim_launch *l);
CUresult shim_launch_variant(struct shim_launch *l, CUstream stream);

#endif
