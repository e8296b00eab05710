/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What gpushared says of the calling process's step.  It is asked four times a second at most, and
 * has 200 ms at most: a program never waits for it longer.
 */
#ifndef GPUSHARE_NVML_FIGURES_H
#define GPUSHARE_NVML_FIGURES_H

#include <stdint.h>

#include "common/clock.h"
#include "gpushare/proto/msg.h"

/* A program that asks for figures gets the driver's own after this. */
#define NVML_PATIENCE_NS (200 * GS_NS_PER_MS)

struct nvml_figures {
	struct gs_msg_step_figures step;
	uint64_t at_ns; /* when they were answered, gs_clock_ns() */
};

/*
 * 1: the device is the one that the step has shares of, and *figures are the step's, at most a
 * quarter of a second old, or older where gpushared has just gone away.  0: the process is in no
 * step with shares, the device is another one, or nobody answers: the driver's figures are right.
 */
int nvml_figures_of(void *device, struct nvml_figures *figures);

/* The same as they are now, however fresh the last ones are; waits no longer than until then
 * (gs_clock_ns). */
int nvml_figures_now(void *device, uint64_t until_ns, struct nvml_figures *figures);

/* Is that process one of the job's that use the GPU? */
int nvml_figures_has_pid(const struct nvml_figures *figures, uint32_t pid);

/* The driver's NVML by way of gpushared: a descriptor, which the caller closes, or -1. */
int nvml_figures_request_library(void);

#endif
