/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people are told that a step does, and why it waits. */
#ifndef GPUSHARE_DAEMON_STEP_STATE_H
#define GPUSHARE_DAEMON_STEP_STATE_H

#include <stddef.h>

#include "gpushare/daemon/base/step.h"

/*
 * running, waiting (for the GPU), idle (it has no work for the GPU), memory (it waits for that),
 * moved (its memory is on the host), suspended or over.  Of what gs_devices_sync() found.
 */
const char *gs_step_state(const struct gs_step *step);

/* Why it waits, or was ended: "job 12.0 has the GPU".  "": there is nothing to say. */
void gs_step_reason(const struct gs_daemon *d, const struct gs_step *step, char *buf, size_t size);

#endif
