/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client on a GPU, for the files of gpu_core.h alone: its page's words that the daemon
 * writes, and the accounting of what a look at it found.
 */
#ifndef GPUSHARE_ARBITER_CLIENT_H
#define GPUSHARE_ARBITER_CLIENT_H

#include <stdint.h>
#include <sys/queue.h>

#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/holders.h"
#include "gpushare/arbiter/watch.h"
#include "gpushare/proto/msg.h"

struct gs_traced;

/* It has not left by the deadline. */
struct gs_late {
	uint64_t since_ns; /* requested_ns of what was late the last time */
	uint8_t untold;    /* and nobody has asked yet, see gs_gpu_client_overdue() */
	uint8_t deaf; /* nothing of it is there, but it did not hear by the deadline, nor has since
		       */
};

/* What the scheduler was told of its task last. */
struct gs_task_told {
	uint64_t nt, done, alone_ns;
};

struct gs_account {
	uint8_t busy;           /* a busy period is being accounted */
	uint64_t charged_ns;    /* up to here */
	uint64_t untracked_ns;  /* up to here launches without a slot are booked */
	uint64_t told_launches; /* booked as told (GS_MSG_UNTRACKED), beyond the watch's last number
				 */
};

/* When it has had nothing live. */
struct gs_pauses {
	uint64_t ended_ns;              /* when that was last seen */
	uint64_t gap_ns, gap_before_ns; /* from then until it was live again, the last two times; 0:
					   not known */
};

struct gs_gpu_client {
	LIST_ENTRY(gs_gpu_client) link;
	struct gs_gpu_client_params p;
	struct gs_gpu *gpu;
	struct gs_watch watch;
	struct gs_found found; /* by the latest poll of its page */
	struct gs_late late;
	uint32_t bad;       /* the page holds what cannot be */
	uint32_t bad_state; /* such a value */
	uint32_t requested; /* the page's word when it was last heard */
	uint8_t dirty;      /* look at it in the next turn */
	uint8_t task;       /* the scheduler knows it */
	uint8_t stopped;    /* its process does not run (SIGSTOP, the freezer) */
	struct gs_task_told told;
	struct gs_account account;
	struct gs_pauses pauses;
	struct gs_holder_state holder_state; /* holders.h */
	uint64_t idle_since;                 /* holds the time slice with nothing to do; 0: busy */
	uint64_t wait_since;      /* a task without the time slice; 0: it is none or has it */
	struct gs_traced *traced; /* NULL: not in the trace */
};

/* Above 0: `a` is more urgent than `b`, below 0: less; 0: they are equals.  (holders.c) */
int gs_gpu_client_compare(const struct gs_gpu_client *a, const struct gs_gpu_client *b);

/* Has it launched something that has neither ended nor left?  (holders.c) */
int gs_gpu_client_is_out(const struct gs_gpu_client *t);

/* It uses the GPU, or has in the last ten seconds and so will want it again.  (holders.c) */
int gs_gpu_client_uses(const struct gs_gpu_client *t, uint64_t now);

/* Does it want the GPU, or use it, as an equal of that one?  (holders.c) */
int gs_gpu_client_is_equal(const struct gs_gpu_client *t, const struct gs_gpu_client *of);

/* Give or take the time slice, sequentially consistent (Dekker's handshake, see handover.c). */
void gs_gpu_client_grant(struct gs_gpu_client *t, uint32_t grant);

/* Is something ready, and all of that in its stream already (GS_SLOT_PREENQUEUED)? */
int gs_gpu_client_is_preenqueued(const struct gs_gpu_client *t);

/*
 * READY -> TORUN, or RUNNING what is pre-enqueued, and back to RUNNING what has not begun to leave.
 * The caller rings for so many launches, as gs_page_doorbell_for() counts them: what is up to the
 * client's agent, which may sleep whoever else is awake, is more than any.
 */
unsigned gs_gpu_client_schedule(struct gs_gpu_client *t);

/*
 * TORUN -> READY, and RUNNING -> TOEVICT for what can leave.  Returns how many
 * changed, *evicted how many of them must leave the GPU; the caller rings.
 *
 * *leave_ns (raised, never lowered): how long the slowest of those takes to
 * leave by its own account, UINT64_MAX if one of them or a kernel that cannot
 * be told does not say.
 */
unsigned gs_gpu_client_sweep(struct gs_gpu_client *t, uint64_t now, unsigned *evicted,
			     uint64_t *leave_ns);

/*
 * Is everything that the last look found on its way out still out there?  Much
 * cheaper than a look; what came after that look is not asked for.
 */
int gs_gpu_client_quiet(const struct gs_gpu_client *t);

/* Time since the last charge: with the GPU it is active, without it waiting. */
void gs_gpu_client_charge(struct gs_gpu_client *t, int has_gpu, uint64_t now);

/*
 * Book launches of so many kernels that no look finds: they are short, and cannot be preempted
 * inside.  What they took is as long as their kernels' last launches that were not evictable, but
 * together no longer than it is since the last call.
 */
void gs_gpu_client_untracked(struct gs_gpu_client *t, const struct gs_untracked *untracked,
			     size_t count, uint64_t now);
/* With those it has made so many in all. */
void gs_gpu_client_launched(struct gs_gpu_client *t, uint64_t launched);

/* Book what a look found; holds: it had the time slice since the last one. */
void gs_gpu_client_account(struct gs_gpu_client *t, const struct gs_poll *inspect, int has_gpu,
			   uint64_t now);

#endif
