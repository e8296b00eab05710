/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Admission by reservation of device memory (RBDM, section 4): a
 * step's logical reservation grows by RM per cycle until it covers what it
 * needs; then it is admitted if nobody waits and the memory is there, else it
 * waits.  High priorities have the larger RM and so are through sooner.
 * Pure code; time is counted in cycles; memory in any one unit (the paper's
 * numbers come out in whole megabytes).
 *
 * Only the step that the wake-up policy puts first is tried: while it does
 * not fit the others wait, even if they would (section 4.3.1).
 *
 * That is GS_ADMISSION_STRICT.  GS_ADMISSION_RBDM leaves no memory idle that
 * the first one could use: while no step waits with its reservation covered,
 * the one that will be covered first is admitted as soon as it fits.  So who
 * comes while all others are admitted is through at once if it fits, and the
 * reservations only order those for whom the memory does not suffice.
 */
#ifndef GPUSHARE_MEMORY_RBDM_H
#define GPUSHARE_MEMORY_RBDM_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct gs_rbdm;

enum gs_admission {
	GS_ADMISSION_RBDM,   /* memory that is free is granted at once */
	GS_ADMISSION_STRICT, /* the paper's: nobody is through before its reservation is covered */
	GS_ADMISSION_FCFS,   /* no reservation: it is covered on arrival (the baseline) */
	GS_ADMISSION_COUNT
};

/* Their names, in gpushare.conf and elsewhere. */
#define GS_ADMISSION_WORDS \
	{ \
		"rbdm", "rbdm-strict", "fcfs" \
	}

struct gs_rbdm_options {
	uint64_t capacity;     /* memory that may be admitted in all, above zero */
	uint32_t priority_sum; /* the sum below the line of equation 1, above zero */
	const char *wake;      /* a name of wake.def */
	uint64_t age_cycles; /* who has waited this long goes first, the oldest of them; 0: no bound
			      */
	enum gs_admission admission;
};

/* Equation 1, whole units, truncated, at least 1: RM = P x M / sum of P. */
uint64_t gs_rbdm_rm(uint64_t memory, uint32_t priority, uint32_t priority_sum);

/* Reserve operations: the smallest count whose sum covers the memory. */
uint64_t gs_rbdm_operations(uint64_t memory, uint64_t rm);

/* Returns NULL with the reason: unknown wake-up policy, an option of zero, no memory. */
struct gs_rbdm *gs_rbdm_create(const struct gs_rbdm_options *options, struct gs_error *err);
void gs_rbdm_destroy(struct gs_rbdm *rbdm); /* NULL is fine */

/*
 * A step arrives at `cycle`; its first operation is in that cycle.  -1 with
 * the reason: it could never fit, priority zero, the id is taken.
 */
int gs_rbdm_arrive(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
		   uint64_t cycle, struct gs_error *err);

/*
 * A step that was admitted before this object was made (the daemon came back):
 * it is admitted at once.  -1 with the reason, too little memory among them.
 */
int gs_rbdm_adopt(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
		  struct gs_error *err);

/*
 * New wake-up policy, ageing bound, sum of priorities and admission, from now on; the
 * capacity stays.  Reservations that are under way keep their pace, unless it is
 * GS_ADMISSION_FCFS: then they are covered at `cycle`.  -1: nothing has changed.
 */
int gs_rbdm_configure(struct gs_rbdm *rbdm, const struct gs_rbdm_options *options, uint64_t cycle,
		      struct gs_error *err);

/* Its priority from now on; above zero.  A reservation under way keeps its pace. */
void gs_rbdm_prioritise(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority);

enum gs_rbdm_phase { GS_RBDM_RESERVING, GS_RBDM_WAITING, GS_RBDM_ADMITTED };

/* A step as people see it. */
struct gs_rbdm_view {
	enum gs_rbdm_phase phase;
	uint64_t memory, rm;
	uint64_t operations, done; /* needed, and made by now */
	uint64_t since;            /* cycle in which it began to wait; WAITING only */
	size_t place;              /* among those that wait, from 1; 0: it does not */
};

/* 1; 0 for an unknown id. */
int gs_rbdm_view(const struct gs_rbdm *rbdm, uint64_t id, uint64_t cycle,
		 struct gs_rbdm_view *view);

/* The step has finished, or is withdrawn while it waits; unknown ids are ignored. */
void gs_rbdm_leave(struct gs_rbdm *rbdm, uint64_t id);

/* The next step that is admitted at `cycle`: 1 and its id, or 0.  Call until 0. */
int gs_rbdm_next(struct gs_rbdm *rbdm, uint64_t cycle, uint64_t *id);

/* The cycle in which the next reservation is covered; UINT64_MAX: none is under way. */
uint64_t gs_rbdm_due(const struct gs_rbdm *rbdm);

size_t gs_rbdm_waiting(const struct gs_rbdm *rbdm);    /* steps that wait for memory */
uint64_t gs_rbdm_admitted(const struct gs_rbdm *rbdm); /* memory of the admitted */

/* Names of the wake-up policies; NULL beyond the last. */
const char *gs_rbdm_wake_name(size_t index);

#endif
