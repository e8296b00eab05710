/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registered steps on disk, so that a daemon that comes back manages the
 * jobs that its predecessor registered.  The file is <socket>.state, for the
 * daemon's user alone, replaced by renaming.  Text: a version line with the
 * next local job's id, then lines per step.  Which lines those are, the modules
 * say whose they are: each registers the part that it writes and reads.
 */
#ifndef GPUSHARE_DAEMON_STATE_H
#define GPUSHARE_DAEMON_STATE_H

#include <stdio.h>

#include "gpushare/daemon/base/daemon.h"

#define GS_STATE_LINE_MAX 512 /* with its newline */

/* What one module keeps of each step. */
struct gs_state_part {
	/* Before the file is written: bring the steps up to date.  NULL: nothing is needed. */
	void (*prepare)(struct gs_daemon *d);
	/* Write the step's lines, each with a newline; none if there is nothing to be said.  NULL:
	 * none of any step. */
	void (*print)(const struct gs_daemon *d, const struct gs_step *step, FILE *f);
	/* A line without its newline: 1, it was this module's and is dealt with; 0, it is
	 * another's. */
	int (*parse)(struct gs_daemon *d, const char *line);
	/* Write, behind all steps, the lines that belong to none (f NULL: only count them); how
	 * many.  NULL: none. */
	int (*print_rest)(const struct gs_daemon *d, FILE *f);
};

/*
 * From then on the part is in the file, behind those that were registered
 * before; the part that registers the step comes first.  The caller keeps it.
 */
void gs_state_register(const struct gs_state_part *part);

/* Write it; a failure is logged, the daemon goes on.  Nothing to be written and no local job
 * ever: no file. */
void gs_state_save(struct gs_daemon *d);

/*
 * Register what the file holds.  Lines that make no sense, and steps whose
 * registrant is gone, are dropped with a line in the log.
 */
void gs_state_load(struct gs_daemon *d);

#endif
