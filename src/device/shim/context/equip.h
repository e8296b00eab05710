/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shim's own resources in a CUDA context (struct shim_context). */
#ifndef GPUSHARE_SHIM_EQUIP_H
#define GPUSHARE_SHIM_EQUIP_H

#include "device/shim/context/context.h"

/* Makes them in the current context, which is c's. Returns 0; -1: the context cannot be shared, and
 * the log says why. */
int shim_context_equip(struct shim_context *c, struct shim_session *s);

#endif
