/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment that a step's programs need, "A=B\n" lines. */
#ifndef GPUSHARE_DAEMON_ENVIRONMENT_H
#define GPUSHARE_DAEMON_ENVIRONMENT_H

#include <stddef.h>

#include "gpushare/config/config.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/daemon/base/step.h"

/*
 * For a program of the daemon's on that GPU: the GPU by its UUID, where that is
 * known, the MPS that it is a client of, then the administrator's JobEnv lines,
 * in which %g is the GPU's number and %u its UUID.  0; -1: cut.
 */
int gs_device_env(const struct gs_config *config, const struct gs_device *device, char *text,
		  size_t size);

/*
 * For a step's programs: what they need to know also while no daemon is there
 * to ask, the GPU as the driver counts it unless Slurm has said so already, the
 * MPS and the JobEnv lines.  0; -1: cut.
 */
int gs_step_env(const struct gs_config *config, const struct gs_step *step, char *text,
		size_t size);

#endif
