/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The GPUs' energy that each step has used. NVML counts the energy of a whole GPU. Between two of
 * its answers (memory_check.h) the energy is divided by the time that each step had the GPU. What a
 * GPU uses while no step computes is not attributed.
 */
#ifndef GPUSHARE_DAEMON_ENERGY_H
#define GPUSHARE_DAEMON_ENERGY_H

#include "gpushare/daemon/base/daemon.h"

/* Divides what has been used since the last call, if NVML has answered since. */
void gs_energy_update(struct gs_daemon *d);

#endif
