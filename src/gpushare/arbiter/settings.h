/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a GPU and its clients are made with, and what their launches teach: the types of gpu.h that
 * its inside needs, too. */
#ifndef GPUSHARE_ARBITER_SETTINGS_H
#define GPUSHARE_ARBITER_SETTINGS_H

#include <stdint.h>

#include "gpushare/arbiter/copy_state.h"
#include "gpushare/arbiter/learned.h"
#include "gpushare/arbiter/step_usage.h"
#include "gpushare/proto/page.h"
#include "gpushare/sched/sched.h"

struct gs_gpu;
struct gs_gpu_client;

struct gs_gpu_options {
	const char *policy;
	struct gs_sched_options sched;
	const struct gs_sched_class
		*classes; /* read by create and configure only; NULL: one class */
	size_t nclasses;
	uint64_t
		idle_grace_ns; /* an idle holder keeps the time slice this long while others wait */
	uint64_t overlap_ns;   /* the next client gets the time slice so long before the last one
				  should have left; 0: once it has */
	int preenqueue; /* whose turn is to come may have its launches in their streams already
			   (GS_SLOT_PREENQUEUED) */
	uint64_t leave_most_ns; /* a kernel that takes longer to leave, or cannot, is waited for by
				   nobody (holders.h); 0: all are waited for */
	int one_context; /* MPS: the kernels of all clients run in one context, beside each other */
	uint64_t evict_deadline_ns; /* after this long the GPU goes to the next one anyway */
	struct gs_copy_options copies;
	int learn_handover;      /* sched.handover_ns is where the learning begins, else it stays */
	uint64_t (*clock)(void); /* when a decision was made, and its order written; NULL: as the
				    time slice began */
};

/* A client as the GPU sees it; everything pointed to outlives the client. */
struct gs_gpu_client_params {
	uint64_t id; /* unique among the clients */
	struct gs_page *page;
	struct gs_step_usage *usage; /* of its step */
	struct gs_kernel_map *kernels;
	int32_t priority;
	uint32_t class; /* of its tasks that are to come; index into the classes */
	uint32_t shares;
	uint64_t force_ns; /* it is evicted when it has had the time slice for so long, whoever
			      waits; 0: never */
	uint32_t job_id, step_id;
	const char *name;          /* "job 12.0 uid 1000 pid 4711", for the log */
	const char *program;       /* NULL: not known */
	struct gs_counted counted; /* adopted: so much of its page is in the usage already */
};

/* What launches of one kernel and shape have told of the time per block-task, and how many of them.
 */
struct gs_lesson {
	struct gs_learned_entry entry; /* key 0: none */
	uint64_t times;
};

#define GS_GPU_LESSONS 512 /* at most so many are kept until they are fetched */

#endif
