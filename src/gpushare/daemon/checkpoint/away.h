/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of allocations whose memory is on the host, or on its way there or back. */
#ifndef GPUSHARE_DAEMON_AWAY_H
#define GPUSHARE_DAEMON_AWAY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"

/* A process whose memory has been moved to the host, or is being moved. */
struct gs_away_process {
	LIST_ENTRY(gs_away_process) link;
	pid_t pid;
	uint64_t start;             /* start time of that process (proc.h) */
	uint64_t bytes;             /* bytes that it held */
	struct gs_connection *conn; /* NULL: a client of an earlier daemon */
	uint64_t settle_ns;         /* since when it has been finishing its kernels; ns */
	int parked;
	int stopped; /* as suspended.c saw it last */
	/* the steps' moves (moves.h) include it, so they must include its return */
	int counted;
	int failed;        /* its return has failed, and that is logged */
	unsigned refusals; /* how often in a row the driver refused its return */
};

/* State of an allocation whose memory is moved, or on the host. */
struct gs_away {
	LIST_HEAD(, gs_away_process) processes;
	int released; /* its reservation has been given to others */
	int queued;   /* it waits for its memory again */
	/* a process could not return: do not try again before this time, ns */
	uint64_t again_ns;
	/* when the driver was asked whether there is room, ns; 0: it was not */
	uint64_t requested_ns;
	uint64_t room_ns; /* when there was room, ns; 0: not known */
	int no_room;      /* there was none, and that is logged */
	int lost;         /* it can never return, and its job has been told to end */
	/* the gpushare-mem that moves one of its processes, perhaps an earlier daemon's; 0: none */
	pid_t helper;
	uint64_t helper_start;
	int idle; /* it left because its programs called nothing, and they still do not */
};

/* Frees the record of a process. */
void gs_checkpoint_drop(struct gs_away_process *p);

/* Is that the first step of its allocation? It stands for the others. */
int gs_away_is_first(const struct gs_daemon *d, const struct gs_step *step);

/* Writes "job 12.0", for the allocation's first step, into buf and returns buf. */
const char *gs_checkpoint_name(struct gs_daemon *d, const struct gs_alloc *alloc, char *buf,
			       size_t size);

/* Is a gpushare-mem that an earlier daemon started still at work on this memory? If so, sets when
 * to look again, and kills it once this daemon has run for preempt_timeout. */
int gs_away_is_being_moved(const struct gs_daemon *d, struct gs_away *away, uint64_t now);

/* Bytes of host memory that are in use, or will be. */
uint64_t gs_checkpoint_on_host(const struct gs_daemon *d);

/* Must its memory stay on the host until the job is resumed? */
int gs_suspend_keeps(const struct gs_alloc *alloc);
/* Is nothing of it being moved because of the suspension, in either direction? */
int gs_suspend_settled(const struct gs_alloc *alloc);

/* The processes whose memory may be on the host, for the state file. */
extern const struct gs_state_part gs_checkpoint_part;

#endif
