/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of the process that registered a step, seen as it happens; without
 * a pidfd only the next sweep sees it (gs_steps_sweep()).
 */
#ifndef GPUSHARE_DAEMON_REGISTRANT_H
#define GPUSHARE_DAEMON_REGISTRANT_H

#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/step.h"

/* Have `gone` called with the daemon when the process has ended, whichever way, until
 * gs_step_unwatch(). */
void gs_step_watch(struct gs_daemon *d, struct gs_step *step, event_callback_fn gone);
void gs_step_unwatch(struct gs_step *step);

#endif
