/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves the figures of running steps; see saved_usage.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/saved_usage.h"

#include <inttypes.h>
#include <time.h>

#include "gpushare/arbiter/gpu.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/memory/ledger.h"

/* Launches of the clients that are gone. Those of the others are in lines of their own
 * (returning.h). */
static uint64_t launches_over(const struct gs_daemon *d, const struct gs_step *s)
{
	uint64_t all = s->usage.launches, theirs = gs_returning_counted(s).launches;
	const struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step == s)
			theirs += conn->registration.counted.launches;
	return all > theirs ? all - theirs : 0;
}

/* The same of copies: a client's page tells a new daemon all of them again. */
static struct gs_copied copied_over(const struct gs_daemon *d, const struct gs_step *s, int way)
{
	struct gs_copied over = s->usage.copied[way], away = gs_returning_counted(s).copied[way];
	const struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link) {
		const struct gs_copied *theirs = &conn->registration.counted.copied[way];

		if (conn->step != s || theirs->copies > over.copies || theirs->bytes > over.bytes ||
		    theirs->host_ns > over.host_ns)
			continue;
		over.copies -= theirs->copies;
		over.bytes -= theirs->bytes;
		over.host_ns -= theirs->host_ns;
	}
	over.copies -= away.copies < over.copies ? away.copies : over.copies;
	over.bytes -= away.bytes < over.bytes ? away.bytes : over.bytes;
	over.host_ns -= away.host_ns < over.host_ns ? away.host_ns : over.host_ns;
	return over;
}

/* While its memory is on the host the ledger does not know what it held. */
static uint64_t peak_of(const struct gs_alloc *a)
{
	uint64_t here = gs_ledger_peak(a->device->ledger, a->id);

	return here > a->away_peak ? here : a->away_peak;
}

static void print(const struct gs_daemon *d, const struct gs_step *s, FILE *f)
{
	const struct gs_step_usage *t = &s->usage;

	fprintf(f,
		"had %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 "\n",
		s->info.job_id, s->info.step_id, launches_over(d, s), t->periods, t->turnaround_ns,
		t->active_ns, t->waiting_ns, t->preemptions, t->time.gpu_ns, t->time.unevictable,
		t->time.unevictable_ns, peak_of(s->alloc), s->begun_s);
	for (int way = 0; way < GS_COPY_DIRECTIONS; way++) {
		struct gs_copied over = copied_over(d, s, way);

		fprintf(f, "copied %u %u %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			s->info.job_id, s->info.step_id, way, over.copies, over.bytes, over.host_ns,
			over.waited_ns);
	}
	if (t->beside.ns)
		fprintf(f, "beside %u %u %" PRIu64 " %" PRIu64 "\n", s->info.job_id,
			s->info.step_id, t->beside.ns, t->beside.alone_ns);
}

static int parse_copied(struct gs_daemon *d, const char *line)
{
	struct gs_copied is;
	unsigned job, step, way;
	struct gs_step *s;
	int at = 0;

	if (sscanf(line, "copied %u %u %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &job,
		   &step, &way, &is.copies, &is.bytes, &is.host_ns, &is.waited_ns, &at) != 7 ||
	    line[at] || way >= GS_COPY_DIRECTIONS)
		return 0;
	s = gs_step_find(d, job, step);
	if (s)
		s->usage.copied[way] = s->live.copied[way] = is;
	return 1;
}

static int parse_beside(struct gs_daemon *d, const char *line)
{
	struct gs_step_usage_beside is;
	unsigned job, step;
	struct gs_step *s;
	int at = 0;

	if (sscanf(line, "beside %u %u %" SCNu64 " %" SCNu64 "%n", &job, &step, &is.ns,
		   &is.alone_ns, &at) != 4 ||
	    line[at])
		return 0;
	s = gs_step_find(d, job, step);
	if (s)
		s->usage.beside = s->live.beside = is;
	return 1;
}

static int parse_had(struct gs_daemon *d, const char *line)
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
	gs_step_usage_copy(&s->live, &had, 0); /* the step has no clients yet */
	gs_step_usage_copy(&s->usage, &had, 0);
	if (begun_s > 0 && begun_s < s->begun_s)
		s->begun_s = begun_s;
	gs_ledger_note_peak(s->alloc->device->ledger, s->alloc->id,
			    peak < s->alloc->bytes ? peak : s->alloc->bytes);
	return 1;
}

/* The last two stand behind the step's other figures, which set all of them. */
static int parse(struct gs_daemon *d, const char *line)
{
	return parse_had(d, line) || parse_copied(d, line) || parse_beside(d, line);
}

static void prepare(struct gs_daemon *d)
{
	gs_devices_sync(d, 0);
}

const struct gs_state_part gs_saved_usage_part = { .prepare = prepare,
						   .print = print,
						   .parse = parse };
