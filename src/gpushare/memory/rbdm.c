/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reservation cycles, admission and the waiting queue; see rbdm.h. */
#include "gpushare/memory/rbdm.h"

#include <stdlib.h>
#include <string.h>

#include "gpushare/memory/wake.h"

enum phase { PHASE_RESERVING, PHASE_WAITING, PHASE_ADMITTED };

struct step {
	struct step *next; /* in order of arrival */
	uint64_t id;
	enum phase phase;
	uint64_t ready;    /* cycle in which its reservation covers what it needs */
	uint64_t since;    /* cycle in which it began to wait */
	struct gs_waiting as;
};

struct gs_rbdm {
	struct gs_rbdm_options options;
	const struct gs_wake *wake;
	struct step *first, **end;
	uint64_t admitted;
	uint64_t next_order;
	size_t waiting;
};

static const struct gs_wake *const wakes[] = {
#define WAKE(name, words) &gs_wake_##name,
#include "gpushare/memory/wake.def"
#undef WAKE
};

#define WAKE_COUNT (sizeof(wakes) / sizeof(wakes[0]))

const char *gs_rbdm_wake_name(size_t index)
{
	return index < WAKE_COUNT ? wakes[index]->name : NULL;
}

uint64_t gs_rbdm_rm(uint64_t memory, uint32_t priority, uint32_t priority_sum)
{
	uint64_t rm = (uint64_t)((unsigned __int128)memory * priority / priority_sum);

	return rm ? rm : 1;
}

uint64_t gs_rbdm_operations(uint64_t memory, uint64_t rm)
{
	return memory / rm + (memory % rm != 0);
}

struct gs_rbdm *gs_rbdm_create(const struct gs_rbdm_options *options, struct gs_error *err)
{
	const struct gs_wake *wake = NULL;
	struct gs_rbdm *rbdm;

	for (size_t i = 0; i < WAKE_COUNT; i++)
		if (strcmp(options->wake, wakes[i]->name) == 0)
			wake = wakes[i];
	if (!wake) {
		gs_fail(err, "'%.40s' is not a wake-up policy: choose one of"
#define WAKE(name, words) " " #name
#include "gpushare/memory/wake.def"
#undef WAKE
			, options->wake);
		return NULL;
	}
	if (!options->capacity || !options->priority_sum) {
		gs_fail(err, "the capacity and the sum of the priorities must be above zero");
		return NULL;
	}
	rbdm = calloc(1, sizeof(*rbdm));
	if (!rbdm) {
		gs_fail(err, "no memory");
		return NULL;
	}
	rbdm->options = *options;
	rbdm->wake = wake;
	rbdm->options.wake = wake->name;
	rbdm->end = &rbdm->first;
	return rbdm;
}

void gs_rbdm_destroy(struct gs_rbdm *rbdm)
{
	if (!rbdm)
		return;
	while (rbdm->first)
		gs_rbdm_leave(rbdm, rbdm->first->id);
	free(rbdm);
}

static struct step **find(struct gs_rbdm *rbdm, uint64_t id)
{
	struct step **at = &rbdm->first;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

int gs_rbdm_arrive(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
		   uint64_t cycle, struct gs_error *err)
{
	uint64_t rm;
	struct step *step;

	if (memory == 0 || priority == 0)
		return gs_fail(err, "a step needs memory and a priority above zero");
	if (memory > rbdm->options.capacity)
		return gs_fail(err, "the step needs more memory than there is");
	if (*find(rbdm, id))
		return gs_fail(err, "a step of this id is there already");
	step = calloc(1, sizeof(*step));
	if (!step)
		return gs_fail(err, "no memory");
	rm = rbdm->options.fcfs ? memory
				: gs_rbdm_rm(memory, priority, rbdm->options.priority_sum);
	step->id = id;
	step->ready = cycle + gs_rbdm_operations(memory, rm) - 1;
	step->as.memory = memory;
	step->as.priority = priority;
	*rbdm->end = step;
	rbdm->end = &step->next;
	return 0;
}

void gs_rbdm_leave(struct gs_rbdm *rbdm, uint64_t id)
{
	struct step **at = find(rbdm, id), *step = *at;

	if (!step)
		return;
	if (step->phase == PHASE_ADMITTED)
		rbdm->admitted -= step->as.memory;
	if (step->phase == PHASE_WAITING)
		rbdm->waiting--;
	*at = step->next;
	if (rbdm->end == &step->next)
		rbdm->end = at;
	free(step);
}

static int fits(const struct gs_rbdm *rbdm, const struct step *step)
{
	return step->as.memory <= rbdm->options.capacity - rbdm->admitted;
}

static int admit(struct gs_rbdm *rbdm, struct step *step, uint64_t *id)
{
	if (step->phase == PHASE_WAITING)
		rbdm->waiting--;
	step->phase = PHASE_ADMITTED;
	rbdm->admitted += step->as.memory;
	*id = step->id;
	return 1;
}

/* Is x tried before y?  Those past the ageing bound first, by their wait. */
static int goes_before(const struct gs_rbdm *rbdm, const struct step *x, const struct step *y,
		       uint64_t cycle)
{
	uint64_t bound = rbdm->options.age_cycles;
	int aged_x = bound && cycle - x->since >= bound;
	int aged_y = bound && cycle - y->since >= bound;

	if (aged_x != aged_y)
		return aged_x;
	return aged_x ? x->as.order < y->as.order : rbdm->wake->before(&x->as, &y->as);
}

static struct step *first_waiting(const struct gs_rbdm *rbdm, uint64_t cycle)
{
	struct step *best = NULL;

	for (struct step *s = rbdm->first; s; s = s->next)
		if (s->phase == PHASE_WAITING &&
		    (!best || goes_before(rbdm, s, best, cycle)))
			best = s;
	return best;
}

/* Whose reservation was covered first, at the latest in `cycle`; ties: earlier arrival. */
static struct step *first_covered(const struct gs_rbdm *rbdm, uint64_t cycle)
{
	struct step *best = NULL;

	for (struct step *s = rbdm->first; s; s = s->next)
		if (s->phase == PHASE_RESERVING && s->ready <= cycle &&
		    (!best || s->ready < best->ready))
			best = s;
	return best;
}

int gs_rbdm_next(struct gs_rbdm *rbdm, uint64_t cycle, uint64_t *id)
{
	struct step *step;

	for (;;) {
		step = first_waiting(rbdm, cycle);
		if (step && fits(rbdm, step))
			return admit(rbdm, step, id);
		step = first_covered(rbdm, cycle);
		if (!step)
			return 0;
		if (rbdm->waiting == 0 && fits(rbdm, step))
			return admit(rbdm, step, id);
		step->phase = PHASE_WAITING;
		step->since = step->ready;
		step->as.order = ++rbdm->next_order;
		rbdm->waiting++;
	}
}

uint64_t gs_rbdm_due(const struct gs_rbdm *rbdm)
{
	uint64_t due = UINT64_MAX;

	for (const struct step *s = rbdm->first; s; s = s->next)
		if (s->phase == PHASE_RESERVING && s->ready < due)
			due = s->ready;
	return due;
}

size_t gs_rbdm_waiting(const struct gs_rbdm *rbdm)
{
	return rbdm->waiting;
}

uint64_t gs_rbdm_admitted(const struct gs_rbdm *rbdm)
{
	return rbdm->admitted;
}
