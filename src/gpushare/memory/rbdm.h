/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Admission by reservation of device memory (RBDM, section 4). A step's logical reservation grows
 * by RM per cycle until it covers what the step needs. Then the step is admitted if no step waits
 * and the memory is free; otherwise it waits. A higher priority has a larger RM and so is admitted
 * sooner. Pure code; time is counted in cycles, memory in any unit (the paper's numbers come out in
 * whole megabytes).
 *
 * Only the step that the wake-up policy puts first is tried: while it does not fit the others wait,
 * even if they would fit (section 4.3.1). That is GS_ADMISSION_STRICT. GS_ADMISSION_RBDM leaves no
 * memory idle that the first step could use: while no step waits with its reservation covered, the
 * step that will be covered first is admitted as soon as it fits. So a step that comes while all
 * others are admitted is admitted at once if it fits, and reservations order only the steps for
 * which memory does not suffice.
 */
#ifndef GPUSHARE_MEMORY_RBDM_H
#define GPUSHARE_MEMORY_RBDM_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct gs_rbdm;

enum gs_admission {
	GS_ADMISSION_RBDM, /* free memory is granted at once */
	/* the paper's: no step is admitted before its reservation is covered */
	GS_ADMISSION_STRICT,
	GS_ADMISSION_FCFS, /* no reserving: a reservation is covered on arrival (the baseline) */
	GS_ADMISSION_COUNT
};

/* Their names, in gpushare.conf and elsewhere. */
#define GS_ADMISSION_WORDS \
	{ \
		"rbdm", "rbdm-strict", "fcfs" \
	}

struct gs_rbdm_options {
	uint64_t capacity;     /* memory that may be admitted in all, above zero */
	uint32_t priority_sum; /* the denominator of equation 1, above zero */
	const char *wake;      /* a name of wake.def */
	/* a step that has waited this long goes first, the oldest first; 0: no bound */
	uint64_t age_cycles;
	enum gs_admission admission;
};

/* Equation 1, whole units, truncated, at least 1: RM = P x M / sum of P. */
uint64_t gs_rbdm_rm(uint64_t memory, uint32_t priority, uint32_t priority_sum);

/* Reserve operations: the smallest count whose sum covers the memory. */
uint64_t gs_rbdm_operations(uint64_t memory, uint64_t rm);

/* Returns NULL with the reason: unknown wake-up policy, an option of zero, no memory. */
struct gs_rbdm *gs_rbdm_create(const struct gs_rbdm_options *options, struct gs_error *err);
void gs_rbdm_destroy(struct gs_rbdm *rbdm); /* NULL is fine */

/* A step arrives at `cycle`, in which it makes its first reserve operation. Returns 0; -1 with the
 * reason: it can never fit, its priority is zero, or the id is taken. */
int gs_rbdm_arrive(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
		   uint64_t cycle, struct gs_error *err);

/* A step that was admitted before this object was made, by an earlier daemon: it is admitted at
 * once. Returns 0; -1 with the reason, such as too little memory. */
int gs_rbdm_adopt(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
		  struct gs_error *err);

/*
 * Sets a new wake-up policy, ageing bound, sum of priorities and kind of admission; the capacity
 * stays. Reservations under way keep their rate, unless the admission is GS_ADMISSION_FCFS: then
 * they are covered at `cycle`. Returns 0; -1: nothing has changed.
 */
int gs_rbdm_configure(struct gs_rbdm *rbdm, const struct gs_rbdm_options *options, uint64_t cycle,
		      struct gs_error *err);

/* Sets the step's priority, above zero. A reservation under way keeps its rate. */
void gs_rbdm_prioritise(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority);

enum gs_rbdm_phase { GS_RBDM_RESERVING, GS_RBDM_WAITING, GS_RBDM_ADMITTED };

/* A step's state for reports. */
struct gs_rbdm_view {
	enum gs_rbdm_phase phase;
	uint64_t memory, rm;
	uint64_t operations, done; /* reserve operations that it needs, and has made so far */
	uint64_t since;            /* cycle in which it began to wait; WAITING only */
	/* its place among the waiting steps, from 1; 0: it does not wait */
	size_t place;
};

/* Fills in *view. Returns 1; 0 for an unknown id. */
int gs_rbdm_view(const struct gs_rbdm *rbdm, uint64_t id, uint64_t cycle,
		 struct gs_rbdm_view *view);

/* The step has finished, or is withdrawn while it waits. Unknown ids are ignored. */
void gs_rbdm_leave(struct gs_rbdm *rbdm, uint64_t id);

/* Admits the next step at `cycle`: returns 1 and its id, or 0. Call it until it returns 0. */
int gs_rbdm_next(struct gs_rbdm *rbdm, uint64_t cycle, uint64_t *id);

/* The cycle in which the next reservation is covered; UINT64_MAX: none is under way. */
uint64_t gs_rbdm_due(const struct gs_rbdm *rbdm);

size_t gs_rbdm_waiting(const struct gs_rbdm *rbdm);    /* steps that wait for memory */
uint64_t gs_rbdm_admitted(const struct gs_rbdm *rbdm); /* memory of the admitted steps */

#endif
