/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets reservations as limits of the kernel's device memory controller (dmem.h). Does nothing where
 * there is no controller for the GPU. */
#ifndef GPUSHARE_DAEMON_DMEM_STEPS_H
#define GPUSHARE_DAEMON_DMEM_STEPS_H

#include "gpushare/config/config.h"
#include "gpushare/daemon/base/step.h"

/* Finds the region of the GPU at that PCI address and sets device->dmem. */
void gs_dmem_device(struct gs_device *device, const struct gs_config *config, const char *pci);

/* Call when a step is new, or known from before, and is among d->steps: limits its job to what all
 * of its steps have reserved. `proc` is GS_DMEM_PROC, except in tests. */
#define GS_DMEM_PROC "/proc"
void gs_dmem_begin(const struct gs_daemon *d, struct gs_step *step, const char *proc);

/* Call when the step has ended but is still among d->steps: limits its job to the rest, or removes
 * the limit. Not at the daemon's own end. */
void gs_dmem_end(const struct gs_daemon *d, struct gs_step *step);

#endif
