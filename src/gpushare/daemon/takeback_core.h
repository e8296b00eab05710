/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking memory back, shared by takeback.c (who) and takeback_move.c (how). */
#ifndef GPUSHARE_DAEMON_TAKEBACK_CORE_H
#define GPUSHARE_DAEMON_TAKEBACK_CORE_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/daemon/mover.h"
#include "gpushare/daemon/takeback.h"

struct event;

/* A process that has been, or is being, moved. */
struct gs_away_process {
	LIST_ENTRY(gs_away_process) link;
	pid_t pid;
	uint64_t start;        /* of that process */
	uint64_t bytes;        /* that it held */
	struct gs_peer *peer;  /* NULL: a client of an earlier daemon */
	uint64_t settle_ns;    /* since then it is to finish its kernels */
	int parked;
	int counted;           /* in the steps' moves (moves.h), so its return is to be */
	int failed;            /* to come back; the log says so */
};

/* Of an allocation that is moved, or away. */
struct gs_away {
	LIST_HEAD(, gs_away_process) processes;
	uint64_t peak;
	int released;          /* its reservation has been given up */
	int queued;            /* it has asked for its memory again */
	uint64_t again_ns;     /* a process did not come back; not tried again before */
};

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
};

/* "job 12.0" of the allocation's first step. */
const char *gs_takeback_name(struct gs_daemon *d, const struct gs_alloc *alloc, char *buf,
			     size_t size);

/* Bytes of the host's memory that are taken, or will be. */
uint64_t gs_takeback_on_host(const struct gs_daemon *d);

/* Bring the allocation's memory to the host; gs_takeback_refused() if that fails. */
void gs_takeback_leave(struct gs_takeback *t, struct gs_alloc *alloc);
/* The allocation has its reservation again: bring its processes back. */
void gs_takeback_return(struct gs_takeback *t, struct gs_alloc *alloc);
/* For its timer. */
void gs_takeback_timer(int fd, short what, void *arg);

/* Nothing is taken from the allocation for some time, nor was it now. */
void gs_takeback_refused(struct gs_takeback *t, struct gs_alloc *alloc, const char *why);

/* Forget one. */
void gs_takeback_drop(struct gs_away_process *p);

#endif
