/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IdleReclaim=: the memory of a step whose programs call nothing of CUDA for some time is for
 * those that wait, whatever their priorities, and stays on the host until one of its programs calls
 * again.  The moving is checkpoint.h's.
 *
 * The clients count their calls in their pages (page.h, calls) before they enter the driver,
 * where a call sleeps while the memory is away.  A call that has begun before the last look keeps
 * the memory here, any other is seen by the next look, so none is missed.
 */
#ifndef GPUSHARE_DAEMON_IDLE_H
#define GPUSHARE_DAEMON_IDLE_H

#include <stdint.h>

#include "gpushare/daemon/base/daemon.h"

struct gs_alloc;

/*
 * Look at all clients' calls.  What is away for being idle and has called is not idle any longer.
 * When to look again, ns; UINT64_MAX: there is no need to.
 */
uint64_t gs_idle_poll(struct gs_daemon *d, uint64_t now);

/* Has none of its programs, of which there is one, called anything for IdleReclaim? */
int gs_idle_is(struct gs_daemon *d, const struct gs_alloc *alloc, uint64_t now);

/* It leaves for being idle: has one of its programs called something since the last look? */
int gs_idle_woke(const struct gs_daemon *d, const struct gs_alloc *alloc);

#endif
