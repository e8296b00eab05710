/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A GPU and its clients from inside: the types that the files of this folder share. */
#ifndef GPUSHARE_ARBITER_GPU_CORE_H
#define GPUSHARE_ARBITER_GPU_CORE_H

#include <stdint.h>
#include <sys/queue.h>

#include "gpushare/arbiter/copy_state.h"
#include "gpushare/arbiter/settings.h"
#include "gpushare/arbiter/trace.h"
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
	struct gs_copied copied[GS_COPY_DIRECTIONS]; /* so much of the page's copies is booked */
};

/* When it has had nothing live. */
struct gs_pauses {
	uint64_t ended_ns;              /* when that was last seen */
	uint64_t gap_ns, gap_before_ns; /* from then until it was live again, the last two times; 0:
					   not known */
};

/* What holders.c and usage.c know of a client; all zero: nothing. */
struct gs_holder_state {
	uint8_t held;   /* it is held back, since it is ahead */
	uint8_t barred; /* MPS: it is its time slice at launching, and begins once what its equals
			   have on the GPU is over */
	uint64_t barred_ns;   /* since when */
	uint8_t joined;       /* used_ns has begun */
	uint64_t busy_ns;     /* when a look last found it with a launch under way, or found new
				 launches, untracked ones too */
	uint64_t short_ns;    /* when a look last found a short kernel of its on the GPU, and no
				 long one */
	uint64_t long_until;  /* until then it counts as one that has long kernels, or such of which
				 nobody knows */
	uint64_t stays_until; /* until then it counts as one whose kernels cannot leave, also
				 between two of them */
	uint64_t held_ns;     /* since then it is held back */
	uint64_t told_ns; /* it has lost the time slice, and its kernels were told to leave then; 0:
			     they were not, or have */
	uint64_t free_until; /* until then it is not held back again */
	double used_ns;      /* GPU time that it has had */
};

/*
 * Where a client stands.  Only gs_gpu_client_enter() changes it.
 *
 *	WAITING    it has no time slice, and nothing of it is on the GPU but what was left behind
 *	STARTING   it has been given the time slice, and its kernels are on their way to the GPU
 *	RUNNING    its quantum has begun; or it runs beside the holder (holders.h)
 *	LEAVING    it has lost the time slice, and has not left the GPU
 *
 * The holder STARTS or RUNS.  At most one client STARTS, and one is LEAVING.
 */
enum gs_phase { GS_WAITING, GS_STARTING, GS_RUNNING, GS_LEAVING };

/* Its time slice, if it is not WAITING, or what it waits for. */
struct gs_slice {
	uint64_t since;      /* when it got it */
	uint64_t idle_since; /* since then it has had nothing to do; 0: it is busy */
	uint64_t wait_since; /* WAITING: since then it is a task; 0: it is none */
};

struct gs_gpu_client {
	LIST_ENTRY(gs_gpu_client) link;
	struct gs_gpu_client_params p;
	struct gs_gpu *gpu;
	struct gs_watch watch;
	struct gs_found found; /* by the latest poll of its page */
	struct gs_late late;
	struct gs_bad {
		uint32_t is;    /* the page holds what cannot be */
		uint32_t state; /* such a value */
	} bad;
	uint32_t requested; /* the page's word when it was last heard */
	uint8_t dirty;      /* look at it in the next turn */
	uint8_t task;       /* the scheduler knows it */
	uint8_t stopped;    /* its process does not run (SIGSTOP, the freezer) */
	struct gs_task_told told;
	struct gs_account account;
	struct gs_pauses pauses;
	struct gs_holder_state holder_state;
	struct gs_client_copies copies;
	enum gs_phase phase;
	struct gs_slice slice;
	struct gs_traced *traced; /* NULL: not in the trace */
};

/* What is configured, besides gs_gpu.o. */
struct gs_gpu_settings {
	uint64_t handover_ns; /* gs_gpu.o has what was learned since */
	char policy[32];
	char class_name[GS_SCHED_CLASSES_MAX][256]; /* of the scheduler's; "": none */
};

/* The latest hand-over, which says what one costs while the client that got the time slice is
 * STARTING. */
struct gs_gpu_start {
	uint64_t since; /* when nobody else was there any more: when the time slice was given, or
			   later (gs_handover_overlap()) */
	int beside;     /* a kernel of the holder was on the GPU by then, or could have been long
			   since */
};

/* Of the client that is LEAVING, of which there is at most one. */
struct gs_gpu_leave {
	uint64_t since;     /* when it lost it */
	uint64_t told_ns;   /* the latest order was written */
	uint64_t polled_ns; /* the latest poll of all of its page; 0: none yet */
	uint64_t takes_ns;  /* its kernels say that they take so long; UINT64_MAX: no idea */
	uint32_t doorbell;  /* the client must have heard this one */
	uint8_t evicting;   /* kernels were told to leave, not an idle turn taken */
	uint8_t rung;       /* the client has been told that its time slice is over */
	uint8_t stopping;   /* the scheduler waits for _stopped */
};

/* A client that has the GPU until it is unpinned, whatever the policy says (pin.c). */
struct gs_gpu_pinned {
	struct gs_gpu_client *client; /* NULL: nobody */
	uint64_t seq[GS_PAGE_SLOTS];  /* what it had live as it got it: the launch's number + 1; 0:
					 nothing */
	int seen;                     /* seq is filled */
};

struct gs_gpu_figures {
	uint64_t evictions, overdue;
	struct gs_step_usage latency; /* of the evictions, whoever left; nothing else in it */
	unsigned faults_said[GS_SCHED_CLASSES_MAX]; /* of the classes' policies, in the log already
						     */
};

/* What the clients and the event loop are told, or will be. */
struct gs_gpu_loop {
	enum gs_attended attended; /* as all pages say */
	int news;                  /* gs_gpu_has_news() */
	uint64_t poll_ns;          /* gs_gpu_poll_every() */
	uint64_t copies_ns; /* gs_copies_step() has something to do from then on; 0: never yet */
	struct gs_lesson lesson[GS_GPU_LESSONS]; /* by key % GS_GPU_LESSONS */
};

struct gs_gpu {
	uint32_t index;
	struct gs_gpu_options o;
	struct gs_gpu_settings settings;
	struct gs_sched *sched;
	LIST_HEAD(, gs_gpu_client) clients;
	struct gs_gpu_client *holder; /* has the time slice; NULL: nobody */
	struct gs_gpu_start start;
	struct gs_gpu_client *leaving; /* NULL: nobody, and `leave` says nothing */
	struct gs_gpu_leave leave;
	uint64_t deadline;     /* of the last decision */
	uint64_t accounted_ns; /* GPU time has been booked up to then (holders.c) */
	uint8_t together; /* the holder's equals share the GPU, and the policy does not choose among
			     them (holders.c) */
	uint8_t apart;    /* MPS: equals take turns at launching (usage.h) */
	struct gs_gpu_client *owed; /* is starved by the policy and gets the next turn; NULL: nobody
				       (holders.c) */
	struct gs_gpu_client
		*forced; /* is leaving or has left, for no other reason than force_ns; NULL */
	struct gs_gpu_pinned pin;
	struct gs_gpu_figures figures;
	struct gs_gpu_loop loop;
	struct gs_trace *trace;
};

#endif
