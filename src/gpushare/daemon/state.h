/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registered steps on disk, so that a daemon that comes back manages the
 * jobs that its predecessor registered.  The file is <socket>.state, for the
 * daemon's user alone, replaced by renaming.  Text: a version line with the
 * next local job's id, then lines per step, with its figures so far.
 */
#ifndef GPUSHARE_DAEMON_STATE_H
#define GPUSHARE_DAEMON_STATE_H

#include "gpushare/daemon/daemon.h"

#define GS_STATE_LINE_MAX 384

/* Write it; a failure is logged, the daemon goes on.  No steps and no local job ever: no file. */
void gs_state_save(struct gs_daemon *d);

/*
 * Register what the file holds.  Lines that make no sense, and steps whose
 * registrant is gone, are dropped with a line in the log.
 */
void gs_state_load(struct gs_daemon *d);

#endif
