/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What checkpoint.c (which allocation) and checkpoint_move.c (how) share. */
#ifndef GPUSHARE_DAEMON_CHECKPOINT_CORE_H
#define GPUSHARE_DAEMON_CHECKPOINT_CORE_H

#include <stdint.h>

#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/checkpoint/checkpointer.h"

struct event;
struct gs_alloc;

enum gs_checkpoint_phase {
	GS_TAKE_IDLE,
	GS_TAKE_SETTLING,  /* a client finishes its kernels */
	GS_TAKE_LEAVING,   /* its memory is being moved to the host */
	GS_TAKE_RETURNING, /* a process's memory is being moved back */
};

struct gs_checkpoint {
	struct gs_daemon *d;
	enum gs_checkpoint_phase phase;
	struct gs_alloc *alloc;          /* the one that is moved; NULL: it is gone */
	struct gs_away_process *process; /* the process of it that is moved; NULL: it is gone */
	struct gs_checkpointer *checkpointer;
	struct event *timer;
	uint64_t since_ns;        /* when the current phase began */
	uint64_t checkpointer_ns; /* when the checkpointer began */
	/* The allocation could not be moved: it is left alone for some time. */
	void (*refused)(struct gs_checkpoint *t, struct gs_alloc *alloc, const char *why);
	/* The process's memory can never return. */
	void (*lost)(struct gs_checkpoint *t, struct gs_alloc *alloc, struct gs_away_process *p,
		     const char *why);
};

/* Moves the allocation's memory to the host; calls t->refused() if that fails. idle: it is moved
 * because its programs call nothing (idle.h), and stays if one calls before the driver has begun.
 */
void gs_checkpoint_leave(struct gs_checkpoint *t, struct gs_alloc *alloc, int idle);
/* The allocation has its reservation again: moves its processes' memory back. */
void gs_checkpoint_return(struct gs_checkpoint *t, struct gs_alloc *alloc);
/* The callback of t->timer. */
void gs_checkpoint_timer(int fd, short what, void *arg);

#endif
