/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notices at once when the process that registered a step ends. Without a pidfd only the next sweep
 * notices it (gs_steps_sweep()). */
#ifndef GPUSHARE_DAEMON_REGISTRANT_H
#define GPUSHARE_DAEMON_REGISTRANT_H

#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/step.h"

/*
 * Calls `gone` with the daemon when the process has ended for any reason, until gs_step_unwatch().
 */
void gs_step_watch(struct gs_daemon *d, struct gs_step *step, event_callback_fn gone);
void gs_step_unwatch(struct gs_step *step);

#endif
