/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shim's side of gpushare.h: the symbols gpushare_shim_*, which the program finds in its
 * libcuda.so.1. What the program has requested survives a restart of the daemon. */
#ifndef GPUSHARE_SHIM_API_H
#define GPUSHARE_SHIM_API_H

#include "device/shim/session/session.h"

/* A daemon has just answered: repeats to it what the program has requested. */
void shim_api_repeat(struct shim_session *s);

/* In a forked child: frees a lock that another thread of the parent may have held. The requested
 * priority stays. */
void shim_api_forked(void);

#endif
