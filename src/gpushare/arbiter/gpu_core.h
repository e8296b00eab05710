/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types that the files of this folder share: a GPU and its clients. Times are ns of the
 * monotonic clock unless a comment says otherwise. */
#ifndef GPUSHARE_ARBITER_GPU_CORE_H
#define GPUSHARE_ARBITER_GPU_CORE_H

#include <stdint.h>
#include <sys/queue.h>

#include "gpushare/arbiter/copy_state.h"
#include "gpushare/arbiter/settings.h"
#include "gpushare/arbiter/trace.h"
#include "gpushare/arbiter/watch.h"
#include "gpushare/corun/balance.h"
#include "gpushare/proto/msg.h"

struct gs_gpu_group;
struct gs_traced;

/* What is known of kernels that have not left by the deadline. */
struct gs_late {
	uint64_t since_ns; /* requested_ns of the launch that was last found late */
	uint8_t untold;    /* gs_gpu_client_overdue() has not reported it yet */
	/* nothing of the client was on the GPU, but it did not acknowledge the doorbell by the
	 * deadline, nor has it since */
	uint8_t deaf;
};

/* What the scheduler was last told, and how often the log was told that the client was stopped or
 * went on. */
struct gs_task_told {
	uint64_t nt, done, alone_ns; /* progress of the task */
	int32_t priority; /* the one in force (own_priority.h), kept while there is no task */
	uint32_t stops;
};

/* What a client of a step with a deadline does on the GPU between two of its pauses (burst.h). */
struct gs_burst {
	uint64_t since_ns;    /* when it began; 0: there is none */
	uint64_t idle_ns;     /* when the client had no work left; 0: it has some */
	uint64_t active_ns;   /* how long it has had the GPU */
	uint64_t last_end_ns; /* when the one before ended; 0: it is the first */
};

struct gs_account {
	uint8_t busy;        /* a busy period is under way */
	uint64_t charged_ns; /* time is booked up to here */
	/* what was booked since the last poll as time with the GPU: reports do not wait for one */
	uint64_t unpolled_ns;
	uint64_t spare_ns;     /* how much of the latest time was not booked as busy */
	uint64_t untracked_ns; /* untracked launches are booked up to here */
	uint64_t slots_ns;     /* time of launches with slots that was booked since then */
	struct gs_untracked_time {
		/* of all untracked launches: as slots have reported it, as the client's messages
		 * have, and how much is booked as busy, the more of the two */
		uint64_t by_slots_ns, by_messages_ns, booked_ns;
	} untracked;
	uint64_t worked_ns; /* alone time of the block-tasks that were seen to be done */
	/* launches that were booked because the client reported them (GS_MSG_UNTRACKED), beyond the
	 * highest launch number that a poll has seen */
	uint64_t told_launches;
	struct gs_copied copied[GS_COPY_DIRECTIONS]; /* the copies in the page that are booked */
	struct gs_burst burst;
};

/* The client's pauses, in which it had no live launch, and its tasks between them. */
struct gs_pauses {
	uint64_t ended_ns; /* when a poll last found that it had become idle */
	/* lengths of the last pause and of the one before; 0: not known */
	uint64_t gap_ns, gap_before_ns;
	uint64_t task_since_ns; /* since when it is a task of the scheduler, if it is one */
	uint64_t task_mean_ns;  /* how long its latest tasks were on average; 0: not known */
	/* the next in the list of active clients that contention.c makes anew in each step */
	const struct gs_gpu_client *next_active;
};

/* What holders.c, usage.c and equals.c know of a client; all zero at first. */
struct gs_holder_state {
	uint8_t held; /* it may not launch until its equals have caught up */
	/* MPS: it is the holder by turn, but may not launch until what its equals have on the GPU
	 * has ended */
	uint8_t barred;
	uint64_t barred_ns; /* when it was barred */
	/* it may not launch for a moment, so that its kernels leave (corun.c) */
	uint8_t paused;
	uint8_t joined;  /* its GPU time is being accounted in used_ns */
	uint8_t had;     /* it had the GPU, or a part of it, at the latest step */
	uint8_t present; /* it had kernels on the GPU at the latest step */
	uint32_t others; /* how many clients of other steps had some then */
	/* when a poll last found a launch under way, or new launches, untracked ones included */
	uint64_t busy_ns;
	/* when a poll last found a short kernel of this client on the GPU, and no long one */
	uint64_t short_ns;
	/* until then it counts as a client with long kernels, or with kernels of unknown length */
	uint64_t long_until;
	/* until then it counts as a client whose kernels cannot leave, also between two kernels */
	uint64_t stays_until;
	/* until then it counts as a client whose kernels an equal does not wait for */
	uint64_t lasts_until;
	/* until then it counts as a client with kernels that cannot be kept to a part of the GPU,
	 * or of unknown length */
	uint64_t undivided_until;
	uint64_t held_ns; /* when it was last held back */
	/* when its kernels were told to leave although others do not wait for that; 0: they were
	 * not told, or have left */
	uint64_t told_ns;
	uint64_t free_until;        /* it is not held back again before */
	struct gs_gpu_group *group; /* NULL: none yet (group.h) */
	double used_ns;             /* GPU time that it has had per share of its step, ns */
	/* by how much it was ahead of its equals when its priority changed, less what others have
	 * caught up since; it begins among its next equals with this lead */
	double lead_ns;
};

/*
 * What a client is doing. Only gs_gpu_client_enter() changes it.
 *
 *	WAITING    it has no time slice; of its kernels only those left behind are on the GPU
 *	STARTING   it has been given the time slice, and its kernels are on their way to the GPU
 *	RUNNING    its quantum has begun; or it has a time slice beside the holder (holders.h)
 *	LEAVING    it has lost the time slice, and its kernels have not left the GPU yet
 *
 * The holder is STARTING or RUNNING. At most one client is STARTING, and at most one is LEAVING.
 */
enum gs_phase { GS_WAITING, GS_STARTING, GS_RUNNING, GS_LEAVING };

/* A client's time slice, or what it waits for. */
struct gs_slice {
	uint64_t since;      /* when it was given */
	uint64_t idle_since; /* since when the client has had nothing to do; 0: it is busy */
	uint64_t wait_since; /* since when it has been WAITING as a task; 0: it has not */
};

/* A page that cannot be trusted. */
struct gs_bad {
	uint32_t is;    /* it holds values that are no launch state */
	uint32_t state; /* one such value */
};

/* What launch_barrier.c knows of a client. All zero at first. */
struct gs_launches {
	uint8_t tell;     /* enum gs_launch_tell: what its page was told */
	uint8_t computed; /* it did at the latest poll */
	uint8_t bursts;   /* how many it has begun, from 0 again after 255 */
	uint8_t is_alone; /* since the latest poll others have been stopped for it */
	/* its burst of work: since when, 0: it is in none; when it was polled and computed, and
	 * polled at all, for the last time; for how much of the time in between it computed */
	uint64_t since, latest, seen_ns, gap_ns;
	/* decaying sums over its bursts while others were stopped: how long they took, how long
	 * the pauses were that showed their ends, and for how long it computed */
	uint64_t bursts_ns, pauses_ns, computed_ns;
	uint64_t stopped_since; /* since when it is stopped for another one; 0: it is not */
};

struct gs_gpu_client {
	LIST_ENTRY(gs_gpu_client) link;
	struct gs_gpu_client_params p;
	struct gs_gpu *gpu;
	struct gs_watch watch;
	struct gs_found found; /* what the latest poll of its page found */
	struct gs_late late;
	struct gs_bad bad;
	uint32_t requested; /* the page's request counter when it was last read */
	uint8_t dirty;      /* the next step polls its page */
	uint8_t task;       /* it is a task of the scheduler */
	uint8_t stopped;    /* its process is stopped (SIGSTOP, the freezer) */
	struct gs_task_told told;
	struct gs_account account;
	struct gs_pauses pauses;
	struct gs_holder_state holder_state;
	struct gs_client_copies copies;
	struct gs_launches launches;
	enum gs_phase phase;
	struct gs_slice slice;
	struct gs_traced *traced; /* NULL: the trace has no room for it */
};

/* The configured settings that gs_gpu.o does not have. */
struct gs_gpu_settings {
	uint64_t handover_ns; /* as configured; gs_gpu.o has the value learned since */
	char policy[32];
	char class_name[GS_SCHED_CLASSES_MAX][256]; /* of the scheduler's classes; "": none */
};

/* The latest hand-over. While the client that got the time slice is STARTING, this measures what a
 * hand-over costs. */
struct gs_gpu_start {
	/* when the time slice was given, or later, when the last client had left
	 * (gs_handover_overlap()) */
	uint64_t since;
	/* the new holder already had a kernel on the GPU then, or could have had for long, so this
	 * hand-over is not measured */
	int beside;
};

/* About the client that is LEAVING; there is at most one. */
struct gs_gpu_leave {
	uint64_t since;     /* when it lost the time slice */
	uint64_t told_ns;   /* when it was last told to leave */
	uint64_t polled_ns; /* when its whole page was last polled; 0: not yet */
	/* how long its kernels take to leave, by their own account; UINT64_MAX: not known */
	uint64_t takes_ns;
	uint32_t doorbell; /* the doorbell value that the client must have acknowledged */
	uint8_t evicting;  /* kernels were told to leave; else it only lost an idle time slice */
	uint8_t rung;      /* the doorbell was rung for it */
	uint8_t stopping;  /* the scheduler waits for gs_sched_stopped() */
};

/* The client that keeps the GPU until it is unpinned, whatever the policy says (pin.c). */
struct gs_gpu_pinned {
	struct gs_gpu_client *client; /* NULL: nobody */
	/* its live launches when it got the time slice: each launch's number + 1; 0: the slot had
	 * none */
	uint64_t seq[GS_PAGE_SLOTS];
	int seen; /* seq has been filled in */
};

struct gs_gpu_figures {
	uint64_t evictions, overdue;
	struct gs_step_usage_evicted latency; /* of all clients */
	/* contract violations of each class's policy that the log has already */
	unsigned faults_said[GS_SCHED_CLASSES_MAX];
};

/* What clients and the event loop have been told, or will be. */
struct gs_gpu_loop {
	enum gs_attended attended; /* the value in all pages */
	int news;                  /* gs_gpu_has_news() */
	uint64_t poll_ns;          /* gs_gpu_poll_every() */
	uint64_t
		again_ns; /* when to look again at a client that could not become a task; 0: none */
	uint64_t copies_ns; /* when gs_copies_step() is due next; 0: never yet */
	struct gs_lesson lesson[GS_GPU_LESSONS]; /* by key % GS_GPU_LESSONS */
};

/* Clients that the policy has starved (holders.c). NULL: none is. */
struct gs_gpu_owed {
	struct gs_gpu_client *client; /* it gets the next time slice */
	struct gs_gpu_client *repaid; /* it got it, and equals leave it to it until until_ns */
	uint64_t until_ns;
};

/* The groups of clients, and the memory for more (group.h). */
struct gs_gpu_groups {
	LIST_HEAD(, gs_gpu_group) used, spare;
	uint64_t accounted_ns; /* GPU time is accounted up to here (usage.c) */
};

/* What is known of clients that were tried beside each other. */
struct gs_corun_known {
	uint64_t key; /* their programs; 0: nothing is known */
	uint64_t who; /* who they were when they last ran */
	uint64_t used_ns;
	uint64_t refused_until, wait_ns; /* not again before; how long that was from then on */
	uint64_t refused_who;            /* who only is not tried until then; 0: nobody is */
	uint32_t begun; /* how often something has cut them short before an epoch counted */
	uint8_t kept;   /* they gained, with these parts */
	struct gs_balance is[GS_CORUN_CLIENTS];
	/* alone time of what each did in a ns while it had the GPU to itself, and how long that
	 * counts. It would be 1 if all claims were right. */
	double solo[GS_CORUN_CLIENTS];
	uint64_t solo_until;
};
#define GS_CORUN_KNOWN 32

/*
 * Clients that run beside each other on parts of the GPU (corun.h).
 *
 *	SOLO    one after the other has the GPU to itself, so that its speed alone is seen
 *	TRIAL   they run beside each other, to see what they gain
 *	KEPT    they go on doing so, since they gain
 */
enum gs_corun_phase { GS_CORUN_OFF, GS_CORUN_SOLO, GS_CORUN_TRIAL, GS_CORUN_KEPT };

struct gs_gpu_corun {
	enum gs_corun_phase phase;
	uint32_t n;
	struct gs_gpu_client *client[GS_CORUN_CLIENTS];
	struct gs_balance is[GS_CORUN_CLIENTS];      /* parts, and progress in the latest epoch */
	uint64_t worked_before_ns[GS_CORUN_CLIENTS]; /* by the account, when the epoch began */
	uint64_t key, who;                           /* as in gs_corun_known */
	uint32_t alone;                              /* SOLO: who has the GPU to itself */
	uint32_t solos;                              /* how many had it */
	uint64_t since_ns; /* when the epoch began; 0: it is the first, which has not */
	uint64_t ended_ns; /* when it ended, and kernels were told to leave; 0: it has not */
	uint32_t epochs;   /* of the trial that have ended */
	uint32_t poor;     /* KEPT: the latest epochs, in a row, that gained too little */
	double sum;        /* of the progress of all */
	int has_sum;       /* since they began there has been an epoch of which sum is */
	struct gs_corun_known known[GS_CORUN_KNOWN];
};

struct gs_gpu {
	uint32_t index;
	struct gs_gpu_options o;
	struct gs_gpu_settings settings;
	struct gs_sched *sched;
	LIST_HEAD(, gs_gpu_client) clients;
	struct gs_gpu_groups groups;
	struct gs_gpu_client *holder; /* the client with the time slice; NULL: nobody */
	struct gs_gpu_start start;
	struct gs_gpu_client *leaving; /* NULL: nobody, and `leave` is meaningless */
	struct gs_gpu_leave leave;
	uint64_t deadline; /* when the last decision must be revised */
	/* the holder's equals launch beside it, so the policy does not choose among them
	 * (holders.c) */
	uint8_t together;
	uint8_t apart; /* MPS: equals take turns at launching (gs_equals_next()) */
	struct gs_gpu_owed owed;
	/* the client of a forced eviction under way (force.c); NULL: none */
	struct gs_gpu_client *forced;
	struct gs_gpu_pinned pin;
	struct gs_gpu_corun corun;
	struct gs_gpu_figures figures;
	struct gs_gpu_loop loop;
	struct gs_trace *trace;
};

#endif
