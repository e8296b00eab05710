/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scheduler of one class, shared by one.c (what happened) and decide.c (what to do). sched.c
 * arbitrates between the classes. The functions gs_one_...() mean what gs_sched_...() mean in
 * sched.h.
 */
#ifndef GPUSHARE_SCHED_CORE_H
#define GPUSHARE_SCHED_CORE_H

#include "gpushare/sched/policy.h"
#include "gpushare/sched/tasks.h"

struct gs_one {
	struct gs_sched_options options;
	const struct gs_policy *policy;
	/* the policy that broke its contract, and that fifo replaces; NULL: none */
	const struct gs_policy *broke;
	struct gs_view view;    /* what the policy sees; view.now is the scheduler's clock */
	struct gs_index index;  /* all live tasks */
	struct gs_ready ready;  /* the tasks that wait */
	struct gs_task *holder; /* the task that holds the GPU */
	uint64_t next_seq, next_slice;
	uint64_t quantum_end; /* when the holder's quantum ends; GS_NO_LIMIT: never */
	/* a starved task that got the GPU keeps it until then */
	uint64_t protected_until;
	int reconsider; /* a task has arrived since the last comparison */
	int evicting;   /* the holder has been told to leave */
	/* how often the policy has replaced the holder since the tasks last changed */
	size_t swaps;
	int told; /* a task's length or progress has been reported since then */
	unsigned faults;
};

/* See the functions gs_sched_...() of the same names in sched.h. */
struct gs_one *gs_one_create_under(const struct gs_policy *policy,
				   const struct gs_sched_options *options, uint64_t now,
				   struct gs_error *err);
void gs_one_destroy(struct gs_one *sched);
void gs_one_set_policy(struct gs_one *sched, const struct gs_policy *policy, uint64_t now);
void gs_one_set_options(struct gs_one *sched, const struct gs_sched_options *options);
const char *gs_one_policy(const struct gs_one *sched);
int gs_one_arrive(struct gs_one *sched, uint64_t id, const struct gs_task_params *params,
		  uint64_t now, struct gs_error *err);
void gs_one_progress(struct gs_one *sched, uint64_t id, uint64_t nt, uint64_t done,
		     uint64_t alone_ns, uint64_t now);
void gs_one_set_priority(struct gs_one *sched, uint64_t id, int32_t priority, uint64_t now);
void gs_one_leave(struct gs_one *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats);
void gs_one_started(struct gs_one *sched, uint64_t id, uint64_t now);
void gs_one_stopped(struct gs_one *sched, uint64_t id, uint64_t now);
void gs_one_decide(struct gs_one *sched, uint64_t now, struct gs_decision *decision);
uint64_t gs_one_peek(struct gs_one *sched, uint64_t now); /* at least one task must be ready */
int gs_one_stats(struct gs_one *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats);
size_t gs_one_count(const struct gs_one *sched);
unsigned gs_one_faults(const struct gs_one *sched);

/* When its longest waiting task must be given the GPU, ns; GS_NO_LIMIT: never. */
uint64_t gs_one_starvation_due(const struct gs_one *sched);

/* The holder must make room for another class: gs_sched_decide() answers EVICT until the holder has
 * stopped. */
void gs_one_evict(struct gs_one *sched);

/* gs_policy_find(): the policy of that name; NULL with the known names in err. gs_sched_check():
 * returns 0 if the settings are valid, or -1 with the reason. */
const struct gs_policy *gs_policy_find(const char *name, struct gs_error *err);
int gs_sched_check(const struct gs_sched_options *options, struct gs_error *err);

/* Advances the clock, which never runs backwards, and returns it. */
uint64_t gs_core_advance(struct gs_one *sched, uint64_t now);

/* The view as of now, for a policy. */
struct gs_view *gs_core_view(struct gs_one *sched);

/* Fills in the task's entry as the policy places it now. */
void gs_core_place(struct gs_one *sched, struct gs_task *task, struct gs_entry *entry);

/* A task has come or gone, or its length or priority has changed: from here on the policy may
 * change its mind. */
static inline void gs_core_news(struct gs_one *sched)
{
	sched->swaps = 0;
	sched->told = 0;
}

/* The policy broke its contract: fifo replaces it. */
void gs_core_fault(struct gs_one *sched);

/* The shortest quantum, ns: the minimum quantum, or the time of quantum_handovers hand-overs if
 * that is longer. */
uint64_t gs_core_slice(const struct gs_one *sched);

/* The holder's quantum begins now. */
void gs_core_begin_quantum(struct gs_one *sched);

/* Bounds a reported length, ns, since clients may report anything. */
uint64_t gs_core_length(uint64_t ns);

/* NT x tpt x the part that is not done, ns. */
uint64_t gs_core_left(uint64_t nt, uint64_t done, uint64_t alone_ns);

#endif
