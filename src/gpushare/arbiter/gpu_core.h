/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A GPU's inside, shared by gpu.c, gpu_step.c (looking, deciding), handover.c (giving and taking
 * the time slice), holders.c, usage.c, polling.c, pin.c and force.c. */
#ifndef GPUSHARE_ARBITER_GPU_CORE_H
#define GPUSHARE_ARBITER_GPU_CORE_H

#include <stdint.h>
#include <sys/queue.h>

#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/trace.h"

/* What is configured, besides gs_gpu.o. */
struct gs_gpu_settings {
	uint64_t handover_ns; /* gs_gpu.o has what was learned since */
	char policy[32];
	char class_name[GS_SCHED_CLASSES_MAX][256]; /* of the scheduler's; "": none */
};

/* STARTING: the holder while its kernels are on their way to the GPU. */
struct gs_gpu_start {
	struct gs_gpu_client *client; /* NULL: nobody starts */
	uint64_t since;               /* when nobody else was there any more: slice_since, or later
					 (gs_handover_overlap()) */
	int beside; /* a kernel of the holder was on the GPU by then, or could have been long since
		     */
};

/* LEAVING: whoever had the time slice, and has not left the GPU. */
struct gs_gpu_leave {
	uint64_t held_since; /* when it had got the time slice */
	uint64_t since;      /* when it lost it */
	uint64_t told_ns;    /* the latest order was written */
	uint64_t polled_ns;  /* the latest poll of all of its page; 0: none yet */
	uint64_t takes_ns;   /* its kernels say that they take so long; UINT64_MAX: no idea */
	uint32_t doorbell;   /* the client must have heard this one */
	uint8_t evicting;    /* kernels were told to leave, not an idle turn taken */
	uint8_t rung;        /* the client has been told that its time slice is over */
	uint8_t stopping;    /* the scheduler waits for _stopped */
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
	enum gs_attended attended;               /* as all pages say */
	int news;                                /* gs_gpu_has_news() */
	uint64_t poll_ns;                        /* gs_gpu_poll_every() */
	struct gs_lesson lesson[GS_GPU_LESSONS]; /* by key % GS_GPU_LESSONS */
};

/*
 * A client WAITS, or it is the holder and STARTS or RUNS, or it RUNS beside the holder (holders.h),
 * or it is LEAVING; see gs_gpu_client_phase().  At most one starts and one is leaving at a time.
 */
struct gs_gpu {
	uint32_t index;
	struct gs_gpu_options o;
	struct gs_gpu_settings settings;
	struct gs_sched *sched;
	LIST_HEAD(, gs_gpu_client) clients;
	struct gs_gpu_client *holder; /* has the time slice; NULL: nobody */
	uint64_t slice_since;         /* when it got the time slice */
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

/* Give the time slice back to whom it was taken from for the sake of it; take it where that is due.
 * (force.c) */
void gs_force_step(struct gs_gpu *gpu, uint64_t now);

/* When that must be called again; UINT64_MAX: not for its sake. */
uint64_t gs_force_next(const struct gs_gpu *gpu, uint64_t now);

/* In place of the decisions of a turn while a client is pinned.  (pin.c) */
void gs_pin_step(struct gs_gpu *gpu, uint64_t now);

enum gs_phase { GS_WAITING, GS_STARTING, GS_RUNNING, GS_LEAVING };
enum gs_phase gs_gpu_client_phase(const struct gs_gpu_client *client);

/* It has the time slice, or has something on the GPU from a turn that is just over: it does not
 * wait. */
int gs_gpu_is_holder(const struct gs_gpu_client *client);

/* The client of that id; NULL: there is none. */
struct gs_gpu_client *gs_gpu_find(const struct gs_gpu *gpu, uint64_t id);

/* Look at a client's page and tell the scheduler what it found. */
void gs_gpu_poll(struct gs_gpu_client *client, uint64_t now);

/* The client's busy period is over, as far as the scheduler is concerned. */
void gs_gpu_task_leave(struct gs_gpu_client *client, uint64_t now);

/* Give the time slice, which nobody has, to that client. */
void gs_handover_give(struct gs_gpu *gpu, struct gs_gpu_client *client, uint64_t now);

/*
 * Take the time slice from the holder; nobody may be leaving.  stopping: the
 * scheduler asked for it and waits to hear of it.  1 if the next client may
 * have the time slice at once, else gs_handover_drain() goes on.
 */
int gs_handover_take(struct gs_gpu *gpu, int stopping, uint64_t now);

/* Its kernels have left; they were told to at `since`. */
void gs_handover_evicted(struct gs_gpu *gpu, struct gs_gpu_client *client, uint64_t since,
			 uint64_t now);

/* One look at the client on its way out; 1 once it is out. */
int gs_handover_drain(struct gs_gpu *gpu, uint64_t now);

/*
 * May the next client have the time slice although this one has not left?  Its way to
 * the GPU (a wake-up, a launch) takes about overlap_ns, which may pass while
 * the last block-tasks end.  Not sooner: the driver would switch to it at once,
 * in the middle of the block-tasks, and back to them and again to it (measured
 * on an H200: evictions of 100 us block-tasks took 880 us).
 */
int gs_handover_overlap(struct gs_gpu *gpu, uint64_t now);

/* For the trace: a turn that began at `since` is over, the client waits no longer. */
void gs_handover_over(const struct gs_gpu *gpu, const struct gs_gpu_client *client, uint64_t since,
		      uint64_t now);
void gs_wait_over(struct gs_gpu_client *client, uint64_t now);

#endif
