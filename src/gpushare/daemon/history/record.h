/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps that are over, from the daemon's list to the history. */
#ifndef GPUSHARE_DAEMON_RECORD_H
#define GPUSHARE_DAEMON_RECORD_H

#include "gpushare/daemon/base/step.h"

/* Put the step into the history, if there is one, with what its launches have taught; a listener of
 * steps.h. */
void gs_record_step(struct gs_daemon *d, struct gs_step *step);

#endif
