/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking memory back, shared by checkpoint.c (who) and checkpoint_move.c (how). */
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
	GS_TAKE_LEAVING,   /* its memory goes to the host */
	GS_TAKE_RETURNING, /* a process comes back */
};

struct gs_checkpoint {
	struct gs_daemon *d;
	enum gs_checkpoint_phase phase;
	struct gs_alloc *alloc;          /* that is moved; NULL: it is gone */
	struct gs_away_process *process; /* of it; NULL: it is gone */
	struct gs_checkpointer *checkpointer;
	struct event *timer;
	uint64_t since_ns;        /* the step that is under way */
	uint64_t checkpointer_ns; /* mover began */
	/* Nothing is taken from the allocation for some time, nor was it now. */
	void (*refused)(struct gs_checkpoint *t, struct gs_alloc *alloc, const char *why);
	/* The process's memory never comes back. */
	void (*lost)(struct gs_checkpoint *t, struct gs_alloc *alloc, struct gs_away_process *p,
		     const char *why);
};

/* Bring the allocation's memory to the host; t->refused() if that fails.  idle: for its programs
 * call nothing (idle.h), and not if they do before the driver has begun. */
void gs_checkpoint_leave(struct gs_checkpoint *t, struct gs_alloc *alloc, int idle);
/* The allocation has its reservation again: bring its processes back. */
void gs_checkpoint_return(struct gs_checkpoint *t, struct gs_alloc *alloc);
/* For its timer. */
void gs_checkpoint_timer(int fd, short what, void *arg);

#endif
