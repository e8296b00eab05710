/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a launch puts into its stream: the kernel as written or its variant, and what is around it.
 */
#ifndef GPUSHARE_SHIM_ENQUEUE_H
#define GPUSHARE_SHIM_ENQUEUE_H

#include "device/shim/launch/request.h"

/* The program's own launch, unchanged; the driver's answer. */
CUresult shim_enqueue_as_written(const struct shim_request *r);

/* What launch l enqueues, with nothing of another's held kernel in between (context/order.h). */
CUresult shim_enqueue(struct shim_session *s, struct shim_launch *l, const struct shim_request *r);

/* The same behind a wait for the time slice (grant.h): the driver's answer, if it has taken
 * the wait (l->preenqueued). */
CUresult shim_enqueue_waiting(struct shim_launch *l, const struct shim_request *r);

/* The driver has refused it, or it is not to be: l is given back, or ends by itself where a wait
 * for its time slice is in the stream. */
void shim_enqueue_refused(struct shim_launch *l, const struct shim_request *r);

/* Launch the variant (first or again) in `stream`; the context must be current. */
CUresult shim_launch_variant(struct shim_launch *l, CUstream stream);

#endif
