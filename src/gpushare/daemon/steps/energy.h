/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each step has used of the GPUs' energy.  NVML counts that of a whole GPU; between two of its
 * answers (memory_check.h) it is divided by the time that each step had the GPU.  What a GPU uses
 * while nobody computes is nobody's.
 */
#ifndef GPUSHARE_DAEMON_ENERGY_H
#define GPUSHARE_DAEMON_ENERGY_H

#include "gpushare/daemon/base/daemon.h"

/* Divide what has been used since the last call, if NVML has answered since. */
void gs_energy_update(struct gs_daemon *d);

#endif
