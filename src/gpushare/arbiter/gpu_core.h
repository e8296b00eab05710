/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A GPU's inside, shared by gpu.c, gpu_turn.c (looking, deciding), handover.c (giving and taking the turn), holders.c, usage.c, pace.c, pin.c and force.c. */
#ifndef GPUSHARE_ARBITER_GPU_CORE_H
#define GPUSHARE_ARBITER_GPU_CORE_H

#include <stdint.h>
#include <sys/queue.h>

#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/tenant.h"
#include "gpushare/arbiter/trace.h"

struct gs_gpu {
	uint32_t index;
	struct gs_gpu_options o;
	uint64_t first_handover_ns; /* as configured; o.sched.handover_ns is what was learned since */
	char policy[32];
	char class_name[GS_SCHED_CLASSES_MAX][256]; /* of the scheduler's; "": none */
	struct gs_sched *sched;
	LIST_HEAD(, gs_tenant) tenants;
	struct gs_tenant *holder; /* has the turn; NULL: nobody */
	uint64_t turn_since;   /* when it got the turn */
	struct gs_tenant *starting; /* the holder while its kernels are on their way to the GPU; or NULL */
	uint64_t starting_since; /* when nobody else was there any more: turn_since, or later (gs_turn_overlap()) */
	int beside;            /* a kernel of the holder was on the GPU by then, or could have been long since */
	uint64_t deadline;     /* of the last decision */
	uint64_t poll_ns;      /* see gs_gpu_poll_every() */
	enum gs_attended attended; /* as all pages say */
	int news;              /* gs_gpu_has_news() */
	struct gs_lesson lesson[GS_GPU_LESSONS]; /* by key % GS_GPU_LESSONS */
	struct gs_tenant *leaving; /* had the turn, and its kernels have not left yet; NULL: nobody */
	/* While somebody is leaving: */
	uint64_t left_since;   /* when it had got the turn */
	int evicting;          /* kernels were told to leave, not an idle turn taken */
	int rung;              /* the client has been told that its turn is over */
	int stopping;          /* the scheduler waits for _stopped */
	uint32_t bell;         /* the client must have heard this one */
	uint64_t drain_since;
	uint64_t told_ns;      /* the latest order was written */
	uint64_t looked_ns;    /* the latest look at it, not only at what is on its way out */
	uint64_t leave_ns;     /* its kernels say that they take so long; UINT64_MAX: no idea */
	uint64_t accounted_ns; /* GPU time has been booked up to then (holders.c) */
	int together;          /* the holder's equals share the GPU, and the policy does not choose among them (holders.c) */
	int apart;             /* MPS: equals take turns at launching (usage.h) */
	struct gs_tenant *owed; /* is starved by the policy and gets the next turn; NULL: nobody (holders.c) */
	uint64_t evictions, overdue;
	struct gs_tally latency; /* of the evictions, whoever left; nothing else in it */
	unsigned bad;          /* clients that must go */
	unsigned faults_said[GS_SCHED_CLASSES_MAX]; /* of the classes' policies, in the log already */
	struct gs_trace *trace;
	struct gs_tenant *pinned; /* has the GPU until it is unpinned, whatever the policy says; NULL */
	uint64_t pinned_seq[GS_PAGE_STUBS]; /* what it had live as it got it: the launch's number + 1; 0: nothing */
	int pinned_seen;       /* pinned_seq is filled */
	struct gs_tenant *forced; /* is leaving or has left, for no other reason than force_ns; NULL */
};

/* Give the turn back to whom it was taken from for the sake of it; take it where that is due.  (force.c) */
void gs_force_turn(struct gs_gpu *gpu, uint64_t now);

/* When that must be called again; UINT64_MAX: not for its sake. */
uint64_t gs_force_next(const struct gs_gpu *gpu, uint64_t now);

/* In place of the decisions of a turn while a client is pinned.  (pin.c) */
void gs_pin_turn(struct gs_gpu *gpu, uint64_t now);

/* It has the turn, or has something on the GPU from a turn that is just over. */
int gs_gpu_holds(const struct gs_tenant *tenant);

/* The tenant of that id; NULL: there is none. */
struct gs_tenant *gs_gpu_find(const struct gs_gpu *gpu, uint64_t id);

/* Look at a client's page and tell the scheduler what it found. */
void gs_gpu_look(struct gs_tenant *tenant, uint64_t now);

/* The client's busy period is over, as far as the scheduler is concerned. */
void gs_gpu_task_leave(struct gs_tenant *tenant, uint64_t now);

/* Give the turn, which nobody has, to that client. */
void gs_turn_give(struct gs_gpu *gpu, struct gs_tenant *tenant, uint64_t now);

/*
 * Take the turn from the holder; nobody may be leaving.  stopping: the
 * scheduler asked for it and waits to hear of it.  1 if the next client may
 * have the turn at once, else gs_turn_drain() goes on.
 */
int gs_turn_take(struct gs_gpu *gpu, int stopping, uint64_t now);

/* Its kernels have left; they were told to at `since`. */
void gs_handover_evicted(struct gs_gpu *gpu, struct gs_tenant *tenant, uint64_t since, uint64_t now);

/* One look at the client on its way out; 1 once it is out. */
int gs_turn_drain(struct gs_gpu *gpu, uint64_t now);

/*
 * May the next client have the turn although this one has not left?  Its way to
 * the GPU (a wake-up, a launch) takes about overlap_ns, which may pass while
 * the last block-tasks end.  Not sooner: the driver would switch to it at once,
 * in the middle of the block-tasks, and back to them and again to it (measured
 * on an H200: evictions of 100 us block-tasks took 880 us).
 */
int gs_turn_overlap(struct gs_gpu *gpu, uint64_t now);

/* For the trace: a turn that began at `since` is over, the client waits no longer. */
void gs_turn_over(const struct gs_gpu *gpu, const struct gs_tenant *tenant, uint64_t since,
		  uint64_t now);
void gs_wait_over(struct gs_tenant *tenant, uint64_t now);

#endif
