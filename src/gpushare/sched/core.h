/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler's inside, shared by sched.c (what happened) and decide.c (what to do). */
#ifndef GPUSHARE_SCHED_CORE_H
#define GPUSHARE_SCHED_CORE_H

#include "gpushare/sched/policy.h"
#include "gpushare/sched/tasks.h"

struct gs_sched {
	struct gs_sched_options options;
	const struct gs_policy *policy;
	struct gs_view view;      /* what the policy sees; view.now is the core's clock */
	struct gs_index index;    /* all live tasks */
	struct gs_ready ready;    /* those that wait */
	struct gs_task *holder;   /* the one that holds the GPU */
	uint64_t next_seq, next_turn;
	uint64_t quantum_end;     /* of the holder; GS_NO_LIMIT: none */
	uint64_t protected_until; /* a starved task keeps the GPU until then */
	int reconsider;           /* something arrived since the last comparison */
	int evicting;             /* the holder was told to leave */
	unsigned faults;
};

/* The clock never runs backwards. */
uint64_t gs_core_advance(struct gs_sched *sched, uint64_t now);

/* The view as of now, to hand to a policy. */
struct gs_view *gs_core_view(struct gs_sched *sched);

/* The task's entry as the policy places it now. */
void gs_core_place(struct gs_sched *sched, struct gs_task *task, struct gs_entry *entry);

/* The policy broke its contract: fifo takes over. */
void gs_core_fault(struct gs_sched *sched);

/* The shortest time that a turn is worth: the minimum quantum or four hand-overs. */
uint64_t gs_core_slice(const struct gs_sched *sched);

/* The holder's quantum begins now. */
void gs_core_begin_quantum(struct gs_sched *sched);

/* A told length, bounded: clients may tell anything. */
uint64_t gs_core_length(uint64_t ns);

/* NT x tpt x the part not done. */
uint64_t gs_core_left(uint64_t nt, uint64_t done, uint64_t alone_ns);

/* Sum that stays at GS_NO_LIMIT instead of wrapping. */
static inline uint64_t gs_later(uint64_t t, uint64_t by)
{
	return by > UINT64_MAX - t ? UINT64_MAX : t + by;
}

#endif
