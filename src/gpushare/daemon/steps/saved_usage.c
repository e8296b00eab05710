/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves the figures of running steps; see saved_usage.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/saved_usage.h"

#include <inttypes.h>
#include <time.h>

#include "gpushare/arbiter/gpu.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/memory/ledger.h"

/* Launches of the clients that are gone. */
static uint64_t launches_over(const struct gs_daemon *d, const struct gs_step *s)
{
	uint64_t all = s->usage.launches, theirs = 0;
	const struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step == s)
			theirs += conn->registration.counted;
	return all > theirs ? all - theirs : 0;
}

static void print(const struct gs_daemon *d, const struct gs_step *s, FILE *f)
{
	const struct gs_step_usage *t = &s->usage;

	fprintf(f,
		"had %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 "\n",
		s->info.job_id, s->info.step_id, launches_over(d, s), t->periods, t->turnaround_ns,
		t->active_ns, t->waiting_ns, t->preemptions, t->time.gpu_ns, t->time.unevictable,
		t->time.unevictable_ns, gs_ledger_peak(s->alloc->device->ledger, s->alloc->id),
		s->begun_s);
}

static int parse(struct gs_daemon *d, const char *line)
{
	struct gs_step_usage had = { 0 };
	uint64_t peak;
	int64_t begun_s;
	unsigned job, step;
	struct gs_step *s;
	int at = 0;

	if (sscanf(line,
		   "had %u %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64 "%n",
		   &job, &step, &had.launches, &had.periods, &had.turnaround_ns, &had.active_ns,
		   &had.waiting_ns, &had.preemptions, &had.time.gpu_ns, &had.time.unevictable,
		   &had.time.unevictable_ns, &peak, &begun_s, &at) != 13 ||
	    line[at])
		return 0;
	s = gs_step_find(d, job, step);
	if (!s)
		return 1;
	s->usage = s->live = had; /* the step has no clients yet */
	if (begun_s > 0 && begun_s < s->begun_s)
		s->begun_s = begun_s;
	gs_ledger_note_peak(s->alloc->device->ledger, s->alloc->id,
			    peak < s->alloc->bytes ? peak : s->alloc->bytes);
	return 1;
}

static void prepare(struct gs_daemon *d)
{
	gs_devices_sync(d, 0);
}

const struct gs_state_part gs_saved_usage_part = { .prepare = prepare,
						   .print = print,
						   .parse = parse };
