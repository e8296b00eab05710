/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim's side of gpushare.h: symbols gpushare_shim_*, which the program
 * finds in its libcuda.so.1.  What the program requested outlives the daemon.
 */
#ifndef GPUSHARE_SHIM_API_H
#define GPUSHARE_SHIM_API_H

#include "device/shim/session/session.h"

/* A daemon has just answered: tell it what the program requests. */
void shim_api_repeat(struct shim_session *s);

/* In a forked child: a lock that another thread of the parent had is free; the priority stays. */
void shim_api_forked(void);

#endif
