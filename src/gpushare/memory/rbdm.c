/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reservation cycles, admission and the waiting queue; see rbdm.h. */
#include "gpushare/memory/rbdm.h"

#include <stdlib.h>
#include <string.h>

#include "gpushare/memory/wake.h"

struct step {
	struct step *next; /* in order of arrival */
	uint64_t id;
	enum gs_rbdm_phase phase;
	uint64_t arrived; /* cycle of its first reserve operation */
	uint64_t rm, operations;
	uint64_t ready; /* cycle in which its reservation covers what it needs */
	uint64_t since; /* cycle in which it began to wait */
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

uint64_t gs_rbdm_rm(uint64_t memory, uint32_t priority, uint32_t priority_sum)
{
	uint64_t rm = (uint64_t)((unsigned __int128)memory * priority / priority_sum);

	return rm ? rm : 1;
}

uint64_t gs_rbdm_operations(uint64_t memory, uint64_t rm)
{
	return memory / rm + (memory % rm != 0);
}

static const struct gs_wake *check_options(const struct gs_rbdm_options *options,
					   struct gs_error *err)
{
	const struct gs_wake *wake = NULL;

	for (size_t i = 0; i < WAKE_COUNT; i++)
		if (strcmp(options->wake, wakes[i]->name) == 0)
			wake = wakes[i];
	if (!wake) {
		gs_fail(err, "'%.40s' is not a wake-up policy: choose one of"
#define WAKE(name, words) " " #name
#include "gpushare/memory/wake.def"
#undef WAKE
			,
			options->wake);
		return NULL;
	}
	if (!options->capacity || !options->priority_sum) {
		gs_fail(err, "the capacity and the sum of the priorities must be above zero");
		return NULL;
	}
	return wake;
}

struct gs_rbdm *gs_rbdm_create(const struct gs_rbdm_options *options, struct gs_error *err)
{
	const struct gs_wake *wake = check_options(options, err);
	struct gs_rbdm *rbdm;

	if (!wake)
		return NULL;
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

/* A step that has arrived; NULL with the reason. */
static struct step *new_step(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
			     struct gs_error *err)
{
	struct step *step = NULL;

	if (memory == 0 || priority == 0)
		gs_fail(err, "a step needs memory and a priority above zero");
	else if (memory > rbdm->options.capacity)
		gs_fail(err, "the step needs more memory than there is");
	else if (*find(rbdm, id))
		gs_fail(err, "a step with this id exists already");
	else if (!(step = calloc(1, sizeof(*step))))
		gs_fail(err, "no memory");
	if (!step)
		return NULL;
	step->id = id;
	step->as.memory = memory;
	step->as.priority = priority;
	step->rm = memory;
	step->operations = 1;
	*rbdm->end = step;
	rbdm->end = &step->next;
	return step;
}

int gs_rbdm_arrive(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
		   uint64_t cycle, struct gs_error *err)
{
	struct step *step = new_step(rbdm, id, priority, memory, err);

	if (!step)
		return -1;
	if (rbdm->options.admission != GS_ADMISSION_FCFS) {
		step->rm = gs_rbdm_rm(memory, priority, rbdm->options.priority_sum);
		step->operations = gs_rbdm_operations(memory, step->rm);
	}
	step->arrived = cycle;
	step->ready = cycle + step->operations - 1;
	return 0;
}

void gs_rbdm_leave(struct gs_rbdm *rbdm, uint64_t id)
{
	struct step **at = find(rbdm, id), *step = *at;

	if (!step)
		return;
	if (step->phase == GS_RBDM_ADMITTED)
		rbdm->admitted -= step->as.memory;
	if (step->phase == GS_RBDM_WAITING)
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
	if (step->phase == GS_RBDM_WAITING)
		rbdm->waiting--;
	step->phase = GS_RBDM_ADMITTED;
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
		if (s->phase == GS_RBDM_WAITING && (!best || goes_before(rbdm, s, best, cycle)))
			best = s;
	return best;
}

/* Whose reservation was covered first, at the latest in `cycle`; ties: earlier arrival. */
static struct step *first_covered(const struct gs_rbdm *rbdm, uint64_t cycle)
{
	struct step *best = NULL;

	for (struct step *s = rbdm->first; s; s = s->next)
		if (s->phase == GS_RBDM_RESERVING && s->ready <= cycle &&
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
			break;
		if (rbdm->waiting == 0 && fits(rbdm, step))
			return admit(rbdm, step, id);
		step->phase = GS_RBDM_WAITING;
		step->since = step->ready;
		step->as.order = ++rbdm->next_order;
		rbdm->waiting++;
	}
	if (rbdm->options.admission == GS_ADMISSION_STRICT || rbdm->waiting)
		return 0;
	step = first_covered(rbdm, UINT64_MAX);
	return step && fits(rbdm, step) ? admit(rbdm, step, id) : 0;
}

int gs_rbdm_adopt(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority, uint64_t memory,
		  struct gs_error *err)
{
	struct step *step;
	uint64_t same;

	if (memory > rbdm->options.capacity - rbdm->admitted)
		return gs_fail(err, "the memory that it had is no longer available");
	step = new_step(rbdm, id, priority, memory, err);
	if (!step)
		return -1;
	admit(rbdm, step, &same);
	return 0;
}

int gs_rbdm_configure(struct gs_rbdm *rbdm, const struct gs_rbdm_options *options, uint64_t cycle,
		      struct gs_error *err)
{
	const struct gs_wake *wake = check_options(options, err);
	uint64_t capacity = rbdm->options.capacity;

	if (!wake)
		return -1;
	rbdm->options = *options;
	rbdm->options.capacity = capacity;
	rbdm->options.wake = wake->name;
	rbdm->wake = wake;
	for (struct step *s = rbdm->first; s && options->admission == GS_ADMISSION_FCFS;
	     s = s->next)
		if (s->phase == GS_RBDM_RESERVING && s->ready > cycle)
			s->ready = cycle;
	return 0;
}

void gs_rbdm_prioritise(struct gs_rbdm *rbdm, uint64_t id, uint32_t priority)
{
	struct step *step = *find(rbdm, id);

	if (step && priority)
		step->as.priority = priority;
}

static uint64_t operations_done(const struct step *s, uint64_t cycle)
{
	if (s->phase != GS_RBDM_RESERVING)
		return s->operations;
	if (cycle < s->arrived)
		return 0;
	return cycle - s->arrived < s->operations ? cycle - s->arrived + 1 : s->operations;
}

int gs_rbdm_view(const struct gs_rbdm *rbdm, uint64_t id, uint64_t cycle, struct gs_rbdm_view *view)
{
	const struct step *step = rbdm->first;

	while (step && step->id != id)
		step = step->next;
	if (!step)
		return 0;
	*view = (struct gs_rbdm_view) {
		.phase = step->phase,
		.memory = step->as.memory,
		.rm = step->rm,
		.operations = step->operations,
		.done = operations_done(step, cycle),
		.since = step->since,
	};
	for (const struct step *s = rbdm->first; s && step->phase == GS_RBDM_WAITING; s = s->next)
		if (s->phase == GS_RBDM_WAITING && (s == step || goes_before(rbdm, s, step, cycle)))
			view->place++;
	return 1;
}

uint64_t gs_rbdm_due(const struct gs_rbdm *rbdm)
{
	uint64_t due = UINT64_MAX;

	for (const struct step *s = rbdm->first; s; s = s->next)
		if (s->phase == GS_RBDM_RESERVING && s->ready < due)
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
