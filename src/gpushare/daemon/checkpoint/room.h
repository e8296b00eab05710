/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is there room on the GPU for what returns from the host?
 *
 * A reservation says that gpushare's own jobs leave room; programs outside
 * gpushare may have it all the same.  With some drivers a process whose return
 * failed for want of memory never returns (cuda-checkpoint, issue 44), so the
 * driver is asked first, where NVML is there.
 */
#ifndef GPUSHARE_DAEMON_CHECKPOINT_ROOM_H
#define GPUSHARE_DAEMON_CHECKPOINT_ROOM_H

#include <stdint.h>

#include "gpushare/daemon/base/daemon.h"

struct gs_alloc;

/*
 * 1: the driver has said since this return was first asked about that the
 * memory is free, or nobody can say.  0: not yet, or it is not; the
 * allocation's away->again_ns says when to ask again.
 */
int gs_room_for(struct gs_daemon *d, struct gs_alloc *alloc, uint64_t now);

#endif
