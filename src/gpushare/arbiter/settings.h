/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameters of a GPU and of its clients, and what launches teach: types of gpu.h that its
 * implementation needs as well. */
#ifndef GPUSHARE_ARBITER_SETTINGS_H
#define GPUSHARE_ARBITER_SETTINGS_H

#include <stdint.h>

#include "common/period.h"
#include "gpushare/arbiter/copy_state.h"
#include "gpushare/arbiter/learned.h"
#include "gpushare/arbiter/step_usage.h"
#include "gpushare/proto/page.h"
#include "gpushare/sched/sched.h"

#define GS_CORUN_CLIENTS 4

struct gs_gpu;
struct gs_gpu_client;

/* Times are ns. */
struct gs_gpu_options {
	const char *policy;
	struct gs_sched_options sched;
	/* read by gs_gpu_create() and gs_gpu_configure() only; NULL: one class */
	const struct gs_sched_class *classes;
	size_t nclasses;
	/* an idle holder keeps the time slice at most this long while others wait */
	uint64_t idle_grace_ns;
	/* the next client gets the time slice this long before the last one should have left; 0:
	 * once it has left */
	uint64_t overlap_ns;
	/*
	 * a client that waits may have its launches in their streams already (GS_SLOT_PREENQUEUED)
	 */
	int preenqueue;
	/* others do not wait for a kernel that cannot leave, or takes longer than this to leave
	 * (holders.h); 0: they wait for all kernels */
	uint64_t leave_most_ns;
	/* with contexts: a less urgent client's queue can be stopped after each so much predicted
	 * time of its kernels (launch_barrier.h); 0: it is never stopped */
	uint64_t launch_every_ns;
	/* MPS: equals run beside each other on parts of the GPU (corun.h) */
	struct gs_corun_options {
		uint32_t most;     /* so many clients, GS_CORUN_CLIENTS at most; 0: none */
		double least_gain; /* they take turns unless their progress sums up to 1 and this */
		uint64_t epoch_ns; /* how often their progress is measured */
	} corun;
	int one_context; /* MPS: the kernels of all clients run in one context, beside each other */
	/* after this long the GPU goes to the next client even if the last one has not left */
	uint64_t evict_deadline_ns;
	struct gs_copy_options copies;
	/* learn the cost of hand-overs, beginning with sched.handover_ns; 0: keep that value */
	int learn_handover;
	/* the current time, to record when an order was written; NULL: use the time at which the
	 * step began */
	uint64_t (*clock)(void);
};

/* A client as the GPU sees it. Everything pointed to must outlive the client. */
struct gs_gpu_client_params {
	uint64_t id; /* unique among the clients */
	struct gs_page *page;
	struct gs_step_usage *usage; /* of its step */
	struct gs_kernel_map *kernels;
	int32_t priority;
	int32_t priority_most; /* the limit for launches with a priority of their own */
	uint32_t class;        /* of its next tasks; index into the classes */
	uint32_t shares;       /* of its step */
	/* the allocation that its step runs in, and all shares of that (daemon/base/step.h) */
	uint64_t alloc;
	uint32_t alloc_shares;
	/* it is evicted each time it has had the time slice this long, even if nobody waits; 0:
	 * never */
	uint64_t force_ns;
	int no_corun;            /* it runs beside no equals on a part of the GPU (corun.h) */
	struct gs_period period; /* of its step */
	uint32_t job_id, step_id;
	const char *name;    /* "job 12.0 uid 1000 pid 4711", for the log */
	const char *program; /* NULL: not known */
	/* of the user, the step's command (common/program.h) and the program: the same in every job
	 * of that user that runs them; 0: not known */
	uint64_t program_key;
	/* adopted clients: what of its page the usage includes already */
	struct gs_counted counted;
};

/* The time per block-task that launches of one kernel with the same block dimensions have reported,
 * and how many reported it. */
struct gs_lesson {
	struct gs_learned_entry entry; /* key 0: none */
	uint64_t times;
};

#define GS_GPU_LESSONS 512 /* how many lessons are kept until they are fetched */

#endif
