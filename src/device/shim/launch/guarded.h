/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guarded launches keep for each context; see guarded.c. */
#ifndef GPUSHARE_SHIM_GUARDED_H
#define GPUSHARE_SHIM_GUARDED_H

#include "device/shim/context/context.h"

/* The context has been destroyed, no launch is out there, and its record is to be another one's. */
void shim_guards_forget(struct shim_context *c);

#endif
