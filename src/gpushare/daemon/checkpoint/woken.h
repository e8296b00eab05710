/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of an allocation that the daemon has woken though Slurm has stopped them (wake.h),
 * and the lines of the state file by which the next daemon learns of them.
 */
#ifndef GPUSHARE_DAEMON_WOKEN_H
#define GPUSHARE_DAEMON_WOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/daemon/base/wake.h"

#define GS_WOKEN_MAX 256 /* processes of one allocation */

struct gs_woken_list {
	size_t n;
	struct gs_woken *woken;
};

/* Notes that the process is to be woken, and how it is stopped now; in a list that has it already,
 * what has stopped it since. Returns 1 if that changed the list, 0 if not (it has ended, or runs as
 * it is to), -1 with the reason. */
int gs_woken_note(struct gs_woken_list *list, uint32_t job_id, pid_t pid, uint64_t start,
		  struct gs_error *err);

/* Adds one that a line tells of, unless the list has it. Returns 0, or -1 if it is full. */
int gs_woken_add(struct gs_woken_list *list, const struct gs_woken *woken);

/* Calls gs_stop_again() or gs_wake_again() for each. */
void gs_woken_all(const struct gs_woken_list *list,
		  void (*what)(const struct gs_woken *woken, const char *root));

void gs_woken_clear(struct gs_woken_list *list);

struct gs_woken_line {
	uint32_t job_id, step_id;
	struct gs_woken woken;
};

/* Writes one line without the newline; returns its length like snprintf(). */
int gs_woken_print(const struct gs_woken_line *line, char *buf, size_t size);
/* The reverse. Returns 0; -1 if it is not exactly such a line: a part of one is none. */
int gs_woken_parse(const char *text, struct gs_woken_line *line);

#endif
