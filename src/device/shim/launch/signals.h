/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's calls to the driver for an inspection of the launches (evict.h): the context in which
 * they are made, and orders to leave, which are collected for each context and sent together. Used
 * by the agent's thread only.
 */
#ifndef GPUSHARE_SHIM_SIGNALS_H
#define GPUSHARE_SHIM_SIGNALS_H

#include "device/shim/launch/evict.h"

/* Makes the context the agent's current one, and keeps it from being destroyed until
 * shim_evictor_leave(). Returns 0; -1: it is being destroyed, or the driver refuses. */
int shim_evictor_enter(struct shim_evictor *e, struct shim_context *c);
void shim_evictor_leave(struct shim_evictor *e);

/* Queues a write of the launch's limit word. The next launch in this slot compares the image with
 * what it needs, so the image is updated, too. */
void shim_signals_set(struct shim_evictor *e, struct shim_launch *l, int leave);

/* Sends what has been queued. Returns what the driver said; nothing stays in the queue. */
CUresult shim_signals_flush(struct shim_evictor *e);

#endif
