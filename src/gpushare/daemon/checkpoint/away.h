/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations whose memory is on the host, or on its way there or back: what is known of them. */
#ifndef GPUSHARE_DAEMON_AWAY_H
#define GPUSHARE_DAEMON_AWAY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"

/* A process that has been, or is being, moved. */
struct gs_away_process {
	LIST_ENTRY(gs_away_process) link;
	pid_t pid;
	uint64_t start;             /* of that process */
	uint64_t bytes;             /* that it held */
	struct gs_connection *conn; /* NULL: a client of an earlier daemon */
	uint64_t settle_ns;         /* since then it is to finish its kernels */
	int parked;
	int counted;       /* in the steps' moves (moves.h), so its return is to be */
	int failed;        /* to come back; the log says so */
	unsigned refusals; /* of the driver to bring it back, one after the other */
};

/* Of an allocation that is moved, or away. */
struct gs_away {
	LIST_HEAD(, gs_away_process) processes;
	int released;          /* its reservation has been given up */
	int queued;            /* it has asked for its memory again */
	uint64_t again_ns;     /* a process did not come back; not tried again before */
	uint64_t requested_ns; /* the driver was asked then whether there is room; 0: it was not */
	uint64_t room_ns;      /* there was room then; 0: it is not known */
	int no_room;           /* there was none, and the log says so */
	int lost;              /* it never comes back, and its job has been told to end */
	int idle; /* it left because its programs called nothing, and they still do not */
};

/* Forget one. */
void gs_checkpoint_drop(struct gs_away_process *p);

/* Is that the first step of its allocation?  It stands for the others. */
int gs_away_is_first(const struct gs_daemon *d, const struct gs_step *step);

/* "job 12.0" of the allocation's first step. */
const char *gs_checkpoint_name(struct gs_daemon *d, const struct gs_alloc *alloc, char *buf,
			       size_t size);

/* Bytes of the host's memory that are taken, or will be. */
uint64_t gs_checkpoint_on_host(const struct gs_daemon *d);

/* Is its memory on the host until the job is resumed? */
int gs_suspend_keeps(const struct gs_alloc *alloc);

/* The processes whose memory may be on the host, for the state file. */
extern const struct gs_state_part gs_checkpoint_part;

#endif
