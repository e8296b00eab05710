/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which allocation gets device memory when; see memory.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/proto/job_name.h"

#define MIB(bytes) ((bytes) >> 20)
#define ADMIT_AGAIN_NS (100 * GS_NS_PER_MS)

struct gs_memory {
	struct gs_rbdm *rbdm;
	/* RBDM's cycles are counted from base_ns; a reload that changes their length sets a new
	 * base. */
	uint64_t cycle_ns, base_ns, base_cycle;
};

static uint64_t no_step(struct gs_daemon *d, uint64_t now)
{
	(void)d;
	(void)now;
	return UINT64_MAX;
}

static void no_why(const struct gs_alloc *a, char *buf, size_t size)
{
	(void)a;
	(void)buf;
	(void)size;
}

static const struct gs_memory_relief no_relief = { no_step, no_why };
static const struct gs_memory_relief *relief = &no_relief;

void gs_memory_set_relief(const struct gs_memory_relief *r)
{
	relief = r;
}

/* RBDM takes any positive number as a priority; priorities here begin at 0. */
static uint32_t quantified(int32_t priority)
{
	return priority > 0 ? (uint32_t)priority : 1;
}

/*
 * The denominator of RBDM's equation 1: the sum of all priorities that the configuration knows,
 * each once. A step with another priority, from its PriorityTier or by an administrator's order,
 * only grows faster or more slowly.
 */
static uint32_t sum_of_priorities(const struct gs_config *c)
{
	unsigned char seen[GS_CONFIG_PRIORITY_MAX + 1] = {
		[1] = 1
	}; /* 1: for partitions without a line */
	uint32_t sum = 0;

	for (size_t i = 0; i < c->npartition; i++)
		seen[quantified(c->partition[i].priority)] = 1;
	for (size_t i = 0; i < c->nqos; i++)
		seen[quantified(c->qos[i].priority)] = 1;
	for (uint32_t p = 1; p <= GS_CONFIG_PRIORITY_MAX; p++)
		sum += seen[p] ? p : 0;
	return sum;
}

static struct gs_rbdm_options options_of(const struct gs_config *c, uint64_t capacity)
{
	return (struct gs_rbdm_options) {
		.capacity = capacity,
		.priority_sum = sum_of_priorities(c),
		.wake = c->memory_wake,
		.admission = (enum gs_admission)c->memory_admission,
		.age_cycles = (c->memory_age_ns + c->memory_cycle_ns - 1) / c->memory_cycle_ns,
	};
}

struct gs_memory *gs_memory_create(const struct gs_config *config, uint64_t capacity,
				   struct gs_error *err)
{
	struct gs_rbdm_options options = options_of(config, capacity);
	struct gs_memory *m = calloc(1, sizeof(*m));

	if (!m) {
		gs_fail(err, "no memory");
		return NULL;
	}
	m->cycle_ns = config->memory_cycle_ns;
	m->base_ns = gs_clock_ns();
	m->rbdm = gs_rbdm_create(&options, err);
	if (!m->rbdm) {
		free(m);
		return NULL;
	}
	return m;
}

void gs_memory_destroy(struct gs_memory *m)
{
	if (!m)
		return;
	gs_rbdm_destroy(m->rbdm);
	free(m);
}

static uint64_t cycle_now(const struct gs_memory *m)
{
	return m->base_cycle + (gs_clock_ns() - m->base_ns) / m->cycle_ns;
}

void gs_memory_reload(struct gs_daemon *d, const struct gs_config *config)
{
	for (size_t i = 0; i < d->ndevice; i++) {
		struct gs_memory *m = d->device[i].admission;
		struct gs_rbdm_options options = options_of(config, d->device[i].memory);
		uint64_t cycle = cycle_now(m);
		struct gs_error err;

		if (gs_rbdm_configure(m->rbdm, &options, cycle, &err) < 0)
			gs_log(GS_LOG_ERROR, "gpu %u: admission stays as it was: %s",
			       d->device[i].index, err.text);
		m->base_cycle = cycle;
		m->base_ns = gs_clock_ns();
		m->cycle_ns = config->memory_cycle_ns;
	}
	gs_memory_step(d);
}

int gs_memory_arrive(struct gs_alloc *a, int32_t priority, int admitted, struct gs_error *err)
{
	struct gs_memory *m = a->device->admission;

	if (!a->bytes)
		return gs_fail(err, "the reservation is 0 bytes");
	if (a->bytes > a->device->memory)
		return gs_fail(err,
			       "%" PRIu64 " MiB do not fit: GPU %u has %" PRIu64 " MiB to reserve",
			       gs_mib_wanted(a->bytes), a->device->index, MIB(a->device->memory));
	a->arrived_ns = gs_clock_ns();
	if (!admitted)
		return gs_rbdm_arrive(m->rbdm, a->id, quantified(priority), a->bytes, cycle_now(m),
				      err);
	if (gs_rbdm_adopt(m->rbdm, a->id, quantified(priority), a->bytes, err) < 0)
		return -1;
	if (gs_ledger_reserve(a->device->ledger, a->id, a->bytes, err) < 0) {
		gs_rbdm_leave(m->rbdm, a->id);
		return -1;
	}
	a->admitted = 1;
	return 0;
}

void gs_memory_leave(struct gs_alloc *a)
{
	gs_rbdm_leave(a->device->admission->rbdm, a->id);
	gs_ledger_release(a->device->ledger, a->id);
}

void gs_memory_prioritise(struct gs_alloc *a, int32_t priority)
{
	gs_rbdm_prioritise(a->device->admission->rbdm, a->id, quantified(priority));
}

int gs_memory_poll(const struct gs_alloc *a, struct gs_rbdm_view *view)
{
	const struct gs_memory *m = a->device->admission;

	return gs_rbdm_view(m->rbdm, a->id, cycle_now(m), view);
}

void gs_memory_why(const struct gs_alloc *a, char *buf, size_t size)
{
	const struct gs_rbdm *rbdm = a->device->admission->rbdm;
	uint64_t left = a->device->memory - gs_rbdm_admitted(rbdm);
	struct gs_rbdm_view view;

	buf[0] = '\0';
	if (!gs_memory_poll(a, &view)) {
		relief->why(a, buf, size);
		return;
	}
	if (view.phase == GS_RBDM_RESERVING)
		snprintf(buf, size,
			 "%" PRIu64 " of %" PRIu64 " reserve operations made: %" PRIu64
			 " of %" PRIu64 " MiB are not reserved",
			 view.done, view.operations, MIB(left), MIB(a->device->memory));
	else if (view.phase == GS_RBDM_WAITING && view.place > 1)
		snprintf(buf, size, "number %zu of %zu that wait for memory", view.place,
			 gs_rbdm_waiting(rbdm));
	else if (view.phase == GS_RBDM_WAITING)
		snprintf(buf, size,
			 "number 1 of %zu that wait for memory: %" PRIu64 " of %" PRIu64
			 " MiB are not reserved",
			 gs_rbdm_waiting(rbdm), MIB(left), MIB(a->device->memory));
	if (view.phase != GS_RBDM_ADMITTED || a->away)
		relief->why(a, buf, size);
}

struct gs_alloc *gs_memory_first(struct gs_daemon *d, const struct gs_device *device)
{
	struct gs_rbdm_view view;
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->device == device && gs_memory_poll(s->alloc, &view) &&
		    view.phase == GS_RBDM_WAITING && view.place == 1)
			return s->alloc;
	return NULL;
}

uint64_t gs_memory_available(const struct gs_device *device)
{
	return device->memory - gs_rbdm_admitted(device->admission->rbdm);
}

static struct gs_step *step_of(struct gs_daemon *d, const struct gs_device *dev, uint64_t id)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->device == dev && s->alloc->id == id)
			return s;
	return NULL;
}

/* -1: its reservation cannot be entered; it is tried again (admit_late()). */
static int admit(struct gs_daemon *d, struct gs_device *dev, uint64_t id)
{
	struct gs_step *s = step_of(d, dev, id), *other;
	double waited_s = s ? (double)(gs_clock_ns() - s->alloc->arrived_ns) / 1e9 : 0;
	struct gs_error err;
	char name[16];

	if (!s) {
		gs_log(GS_LOG_ERROR, "gpu %u: allocation %" PRIu64 " has no step", dev->index, id);
		gs_rbdm_leave(dev->admission->rbdm, id);
		return 0;
	}
	if (gs_ledger_reserve(dev->ledger, id, s->alloc->bytes, &err) < 0) {
		if (!s->alloc->late)
			gs_log(GS_LOG_ERROR,
			       "job " GS_JOB_F ".%s: its memory cannot be reserved yet: %s",
			       GS_JOB(s->info.job_id),
			       gs_step_name(s->info.step_id, name, sizeof(name)), err.text);
		s->alloc->late = 1;
		return -1;
	}
	s->alloc->late = 0;
	s->alloc->admitted = 1;
	TAILQ_FOREACH (other, &d->steps, link)
		if (other->alloc == s->alloc)
			other->info.admitted = 1;
	gs_user_log(s->info.uid,
		    "job " GS_JOB_F ".%s: admitted to %" PRIu64 " MiB of gpu %u after %.3f s",
		    GS_JOB(s->info.job_id), gs_step_name(s->info.step_id, name, sizeof(name)),
		    MIB(s->alloc->bytes), dev->index, waited_s);
	gs_memory_check_now(d->check);
	s->alloc->not_taken[0] = '\0';
	if (!s->alloc->away) /* otherwise they are welcomed once its processes are back */
		gs_memory_welcome(d, s->alloc);
	gs_state_save(d);
	return 0;
}

/* Those that could not be admitted when it was their turn. When to try again; UINT64_MAX: never. */
static uint64_t admit_late(struct gs_daemon *d, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->late && admit(d, s->alloc->device, s->alloc->id) < 0)
			next = now + ADMIT_AGAIN_NS;
	return next;
}

/* When the next reservation is covered, ns of the clock. */
static uint64_t due_ns(const struct gs_memory *m)
{
	uint64_t due = gs_rbdm_due(m->rbdm);

	if (due == UINT64_MAX)
		return UINT64_MAX;
	return m->base_ns + (due > m->base_cycle ? due - m->base_cycle : 0) * m->cycle_ns;
}

/* Logs the allocations that have begun to wait and are not in the log yet. */
static void log_waiting(struct gs_daemon *d)
{
	struct gs_step *s;
	char why[256], name[16];

	TAILQ_FOREACH (s, &d->steps, link) {
		struct gs_rbdm_view view;

		if (s->alloc->said || !gs_memory_poll(s->alloc, &view) ||
		    view.phase != GS_RBDM_WAITING)
			continue;
		s->alloc->said = 1;
		gs_memory_why(s->alloc, why, sizeof(why));
		gs_user_log(
			s->info.uid, "job " GS_JOB_F ".%s: waits for %" PRIu64 " MiB of gpu %u: %s",
			GS_JOB(s->info.job_id), gs_step_name(s->info.step_id, name, sizeof(name)),
			MIB(s->alloc->bytes), s->alloc->device->index, why);
	}
}

void gs_memory_step(struct gs_daemon *d)
{
	uint64_t next, now, id, due;

	for (size_t i = 0; i < d->ndevice; i++)
		while (gs_rbdm_next(d->device[i].admission->rbdm, cycle_now(d->device[i].admission),
				    &id))
			admit(d, &d->device[i], id);
	log_waiting(d);
	now = gs_clock_ns();
	next = gs_memory_refuse_late(d, now);
	due = admit_late(d, now);
	next = due < next ? due : next;
	due = relief->grant(d, now);
	next = due < next ? due : next;
	for (size_t i = 0; i < d->ndevice; i++) {
		due = due_ns(d->device[i].admission);
		next = due < next ? due : next;
	}
	if (next == UINT64_MAX) {
		evtimer_del(d->memory);
	} else {
		uint64_t us = next > now ? (next - now + 999) / 1000 : 0;
		struct timeval tv = { (time_t)(us / 1000000), (suseconds_t)(us % 1000000) };

		evtimer_add(d->memory, &tv);
	}
}

void gs_memory_step_soon(struct gs_daemon *d)
{
	static const struct timeval soon = { 0, 0 };

	evtimer_add(d->memory, &soon);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	gs_memory_step(arg);
}

int gs_memory_timer_init(struct gs_daemon *d)
{
	d->memory = gs_event_new(d->base, -1, 0, on_time, d);
	return d->memory ? 0 : -1;
}

void gs_memory_timer_fini(struct gs_daemon *d)
{
	gs_event_free(d->memory);
	d->memory = NULL;
}
