/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reservations as limits of the kernel's device memory controller (dmem.h); nothing without one. */
#ifndef GPUSHARE_DAEMON_DMEM_STEPS_H
#define GPUSHARE_DAEMON_DMEM_STEPS_H

#include "gpushare/config/config.h"
#include "gpushare/daemon/base/step.h"

/* Look for the region of the GPU at that PCI address; sets device->dmem. */
void gs_dmem_device(struct gs_device *device, const struct gs_config *config, const char *pci);

/*
 * The step is new, or known from before, and among d->steps: its job has what
 * all of its steps have reserved.  `proc` is GS_DMEM_PROC.
 */
#define GS_DMEM_PROC "/proc"
void gs_dmem_begin(const struct gs_daemon *d, struct gs_step *step, const char *proc);

/* The step, still among them, is over: its job has the rest, or no limit.  Not at the daemon's own
 * end. */
void gs_dmem_end(const struct gs_daemon *d, struct gs_step *step);

#endif
