/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking memory back, shared by takeback.c (who) and takeback_move.c (how). */
#ifndef GPUSHARE_DAEMON_TAKEBACK_CORE_H
#define GPUSHARE_DAEMON_TAKEBACK_CORE_H

#include <stdint.h>

#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/checkpoint/mover.h"

struct event;
struct gs_alloc;

enum gs_takeback_phase {
	GS_TAKE_IDLE,
	GS_TAKE_SETTLING,      /* a client finishes its kernels */
	GS_TAKE_LEAVING,       /* its memory goes to the host */
	GS_TAKE_RETURNING,     /* a process comes back */
};

struct gs_takeback {
	struct gs_daemon *d;
	enum gs_takeback_phase phase;
	struct gs_alloc *alloc; /* that is moved; NULL: it is gone */
	struct gs_away_process *process; /* of it; NULL: it is gone */
	struct gs_mover *mover;
	struct event *timer;
	uint64_t since_ns;      /* the step that is under way */
	uint64_t mover_ns;      /* mover began */
	/* Nothing is taken from the allocation for some time, nor was it now. */
	void (*refused)(struct gs_takeback *t, struct gs_alloc *alloc, const char *why);
};

/* Bring the allocation's memory to the host; t->refused() if that fails. */
void gs_takeback_leave(struct gs_takeback *t, struct gs_alloc *alloc);
/* The allocation has its reservation again: bring its processes back. */
void gs_takeback_return(struct gs_takeback *t, struct gs_alloc *alloc);
/* For its timer. */
void gs_takeback_timer(int fd, short what, void *arg);

#endif
