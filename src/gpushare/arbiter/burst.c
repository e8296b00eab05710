/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts of clients with deadlines; see burst.h. */
#include "gpushare/arbiter/burst.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/polling.h"
#include "gpushare/metrics/timing.h"

/* How exactly the beginning and the end are known of a client that launches without asking: a part
 * of its deadline. */
#define POLL_PART 100
#define POLL_LEAST_NS (500 * GS_NS_PER_US)
#define PAUSE_PART 10
#define PAUSE_LEAST_NS (200 * GS_NS_PER_US)
#define PAUSE_MOST_NS (10 * GS_NS_PER_MS)

static int has_deadline(const struct gs_gpu_client *t)
{
	return t->p.period.deadline_ns != 0;
}

/* A client that is idle for less than this goes on with its burst. */
static uint64_t pause_of(const struct gs_gpu_client *t)
{
	const struct gs_period *p = &t->p.period;
	uint64_t ns = (p->every_ns ? p->every_ns : p->deadline_ns) / PAUSE_PART;

	return ns < PAUSE_LEAST_NS ? PAUSE_LEAST_NS : ns < PAUSE_MOST_NS ? ns : PAUSE_MOST_NS;
}

static void book(struct gs_gpu_client *t)
{
	struct gs_burst *b = &t->account.burst;
	const struct gs_timing_job job = {
		.arrival_ns = b->since_ns,
		.end_ns = b->idle_ns,
		.last_end_ns = b->last_end_ns,
		.occupying_ns = b->active_ns,
		.period_ns = t->p.period.every_ns,
		.deadline_ns = t->p.period.deadline_ns,
	};

	if (t->p.usage->timing)
		gs_timing_add(t->p.usage->timing, &job);
	*b = (struct gs_burst) { .last_end_ns = job.end_ns };
}

void gs_burst_settle(struct gs_gpu_client *t, int gone, uint64_t now)
{
	const struct gs_burst *b = &t->account.burst;

	if (b->since_ns && b->idle_ns && (gone || now - b->idle_ns >= pause_of(t)))
		book(t);
}

void gs_burst_begin(struct gs_gpu_client *t, uint64_t now)
{
	struct gs_burst *b = &t->account.burst;

	if (!has_deadline(t))
		return;
	gs_burst_settle(t, 0, now);
	b->idle_ns = 0;
	if (!b->since_ns)
		b->since_ns = now;
}

void gs_burst_pause(struct gs_gpu_client *t, uint64_t now)
{
	if (t->account.burst.since_ns)
		t->account.burst.idle_ns = now;
}

void gs_burst_seen(struct gs_gpu_client *t, uint64_t ran_ns, uint64_t now)
{
	gs_burst_begin(t, now - ran_ns);
	gs_burst_charge(t, ran_ns);
	gs_burst_pause(t, now);
}

void gs_burst_charge(struct gs_gpu_client *t, uint64_t ns)
{
	if (t->account.burst.since_ns)
		t->account.burst.active_ns += ns;
}

uint64_t gs_burst_due(const struct gs_gpu_client *t, uint64_t now)
{
	uint64_t since = t->account.burst.since_ns;

	return has_deadline(t) ? (since ? since : now) + t->p.period.deadline_ns : 0;
}

static uint64_t poll_of(const struct gs_gpu_client *t)
{
	uint64_t ns = t->p.period.deadline_ns / POLL_PART;

	return gs_polling_poll(t->gpu, ns > POLL_LEAST_NS ? ns : POLL_LEAST_NS);
}

uint64_t gs_burst_next(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *t;
	uint64_t soonest = UINT64_MAX;

	LIST_FOREACH (t, &gpu->clients, link)
		if (has_deadline(t) && !t->stopped && now + poll_of(t) < soonest &&
		    (gs_gpu_client_has_slice(t) || t->found.on_gpu || t->found.off_gpu))
			soonest = now + poll_of(t);
	return soonest;
}
