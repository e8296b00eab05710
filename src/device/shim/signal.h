/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EvictionSignal=auto: how long each signal takes on this GPU, measured once
 * for each GPU and life of the daemon, by the first client that has it to itself.
 */
#ifndef GPUSHARE_SHIM_SIGNAL_H
#define GPUSHARE_SHIM_SIGNAL_H

#include "device/shim/context.h"

/*
 * If the daemon wants it measured, nothing of this process is on the GPU and
 * nobody else waits: measure in the current context c and tell the daemon.
 * Otherwise, or when it has been tried, at once nothing.  With no launch begun
 * by this thread, for it passes the gate (hold.c); takes a few ms, once.
 */
void shim_signal_measure(struct shim_session *s, struct shim_context *c);

/* The signal for kernels without a proxy: by a copy?  c must have its word then. */
int shim_signal_by_copy(const struct shim_session *s, const struct shim_context *c);

#endif
