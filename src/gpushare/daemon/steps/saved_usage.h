/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a running step has had so far, carried over to the next daemon in the state file. Without it
 * a restart, such as an upgrade, would make the job's report, and what sacct has of it, begin anew.
 *
 * The saved launches are those of clients that are gone. A client that is still there numbers its
 * launches from the first, and the next daemon counts them by those numbers (gs_watch_adopt()).
 * Latencies and the figures of single kernels are not saved.
 */
#ifndef GPUSHARE_DAEMON_SAVED_USAGE_H
#define GPUSHARE_DAEMON_SAVED_USAGE_H

#include "gpushare/daemon/base/state.h"

/* A line "had ..." for each step, after the step's own line. */
extern const struct gs_state_part gs_saved_usage_part;

#endif
