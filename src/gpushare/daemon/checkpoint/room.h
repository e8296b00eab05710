/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out whether the GPU has room for memory that returns from the host.
 *
 * A reservation only means that gpushare's own jobs leave room; programs outside gpushare may have
 * taken it. With some drivers a process whose return failed for want of memory can never return
 * (cuda-checkpoint, issue 44). So the driver is asked first, if NVML is available.
 */
#ifndef GPUSHARE_DAEMON_CHECKPOINT_ROOM_H
#define GPUSHARE_DAEMON_CHECKPOINT_ROOM_H

#include <stdint.h>

#include "gpushare/daemon/base/daemon.h"

struct gs_alloc;

/*
 * Returns 1: the driver has confirmed, since this return was first asked about, that the memory is
 * free, or it cannot be asked. 0: not yet, or there is no room; then away->again_ns of the
 * allocation says when to ask again. now: ns of gs_clock_ns().
 */
int gs_room_for(struct gs_daemon *d, struct gs_alloc *alloc, uint64_t now);

#endif
