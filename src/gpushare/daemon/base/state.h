/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the registered steps on disk, so that the next daemon manages the jobs that this one
 * registered. The file is <socket>.state, for the daemon's user alone, and is replaced by renaming.
 * It is text: a version line with the next local job's id and the boot's id, then lines for each
 * step. Each module registers the part of those lines that it writes and reads.
 */
#ifndef GPUSHARE_DAEMON_STATE_H
#define GPUSHARE_DAEMON_STATE_H

#include <stdio.h>

#include "gpushare/daemon/base/daemon.h"

#define GS_STATE_LINE_MAX 512 /* including the newline */

/* What one module writes and reads. */
struct gs_state_part {
	/* Called before the file is written, to bring the steps up to date. NULL: not needed. */
	void (*prepare)(struct gs_daemon *d);
	/* Writes the step's lines, each with a newline; none if there is nothing to write. NULL:
	 * the module has no lines of steps. */
	void (*print)(const struct gs_daemon *d, const struct gs_step *step, FILE *f);
	/* Reads a line, without its newline. Returns 1 if it belonged to this module, else 0. */
	int (*parse)(struct gs_daemon *d, const char *line);
	/* Writes, after all steps, the lines that belong to no step (f NULL: only counts them), and
	 * returns how many. NULL: none. */
	int (*print_rest)(const struct gs_daemon *d, FILE *f);
	/* Called once all lines have been read. NULL: not needed. */
	void (*loaded)(struct gs_daemon *d);
};

/* Adds a part, after those that were added before; the part that registers the steps comes first.
 * The caller keeps *part. */
void gs_state_register(const struct gs_state_part *part);

/* Writes the file, but none if there is nothing to write and there has never been a local job.
 * Returns 0; -1: that has failed, which is logged, and the file is as it was. Most callers go on
 * all the same. */
int gs_state_save(struct gs_daemon *d);

/* The same within a tenth of a second: many calls at once write the file once. */
void gs_state_save_soon(struct gs_daemon *d);
/* The daemon ends: what is to be saved soon is not saved. */
void gs_state_fini(void);

/* Registers what the file contains. Invalid lines, and steps whose registrant is gone, are dropped
 * with a line in the log; a file with something that cannot be read is kept as
 * <socket>.state.corrupt. Of a file of before the node booted only the next local job's id is
 * taken. */
void gs_state_load(struct gs_daemon *d);

#endif
