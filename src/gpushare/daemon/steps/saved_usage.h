/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a step that goes on has had so far, carried from one daemon to the next in the
 * state file: without it a restart, such as an upgrade, would make the report of a job,
 * and what sacct has of it, begin anew in the middle.
 *
 * Launches are those of the step's clients that are gone: who is still there numbers its
 * own from the first, and the next daemon counts them by that (gs_watch_adopt()).  Latencies and
 * the figures of single kernels are not carried.
 */
#ifndef GPUSHARE_DAEMON_SAVED_USAGE_H
#define GPUSHARE_DAEMON_SAVED_USAGE_H

#include "gpushare/daemon/base/state.h"

/* A line "had ..." of each step, behind the step's own. */
extern const struct gs_state_part gs_saved_usage_part;

#endif
