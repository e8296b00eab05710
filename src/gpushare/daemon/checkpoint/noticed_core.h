/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What noticed.c (what becomes of an allocation) and noticed_wake.c (waking its processes) share.
 */
#ifndef GPUSHARE_DAEMON_NOTICED_CORE_H
#define GPUSHARE_DAEMON_NOTICED_CORE_H

#include <stdint.h>

#include "gpushare/daemon/checkpoint/woken.h"

struct gs_alloc;
struct gs_daemon;

enum gs_noticed_phase { WATCHED, FOUND, MOVING, ASLEEP }; /* noticed.h */

struct gs_noticed {
	enum gs_noticed_phase phase;
	uint32_t inquiry;  /* the ticket of what slurmctld has not answered yet; 0: nothing */
	int said;          /* it is logged why the memory stays */
	int confirmed;     /* it was suspended still when its processes had been stopped again */
	uint64_t again_ns; /* do not ask before this time, ns */
	uint64_t pause_ns; /* from the last question until then */
	struct gs_woken_list awake;
	int unwritten;   /* the state file does not have all of that list yet */
	size_t left_out; /* processes that the state file tells of, and the list has no room for */
};

/* Must the next daemon know which of its processes are awake, or were until a moment ago? */
int gs_noticed_is_written(const struct gs_alloc *alloc);
/* Brings the state file up to date with the list. Returns 0; -1 with the reason. */
int gs_noticed_write_down(struct gs_daemon *d, struct gs_noticed *noticed, struct gs_error *err);

/* Wakes whatever has been stopped since the allocation's processes were woken. */
void gs_noticed_keep_awake(struct gs_daemon *d, const struct gs_alloc *alloc, uint32_t job_id);

#endif
