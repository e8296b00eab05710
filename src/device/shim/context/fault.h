/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors that end a CUDA context: a kernel wrote where it may not, and from
 * then on every call in that context gives the same error.  Nothing that was
 * on the GPU will ever report its end, so nobody may go on waiting for it.
 */
#ifndef GPUSHARE_SHIM_FAULT_H
#define GPUSHARE_SHIM_FAULT_H

#include "device/shim/context/context.h"

/*
 * A driver call of ours in context c gave rc: 1 if that has ended the context,
 * which c->fault says from then on, and the agent drops its launches.
 */
int shim_fault_seen(struct shim_context *c, CUresult rc);

/* Ask the driver; c is current.  Never waits. */
void shim_fault_poll(struct shim_context *c);

#endif
