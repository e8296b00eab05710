/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choosing steps and reading their figures; see selection.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/report/step_state.h"

static uint64_t peak_of(const struct gs_step *s)
{
	uint64_t here, before;

	if (!s->alloc)
		return s->peak;
	here = gs_ledger_peak(s->alloc->device->ledger, s->alloc->id);
	before = s->alloc->away_peak; /* the ledger does not know it while its memory is on the host
				       */
	return here > before ? here : before;
}

/* A pause of less is none: kernels that follow each other leave such gaps. */
#define IDLE_NS (GS_NS_PER_S / 2)

/* From then on people are told, who look for a job that holds what others could have. */
#define IDLE_SAID_S 5

static void say_idle(int64_t since, char *buf, size_t size)
{
	time_t t = (time_t)since;
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(buf, size,
			 time(NULL) - t < 86400 ? "idle since %H:%M" : "idle since %Y-%m-%d", &tm);
}

/* A job whose script waits for its steps is not idle while one of them works. */
static double idle_s(const struct gs_daemon *d, const struct gs_step *s)
{
	uint64_t now = gs_clock_ns(), since;
	const struct gs_step *other;

	if (!s->alloc)
		return 0;
	since = s->alloc->worked_ns ? s->alloc->worked_ns : s->alloc->arrived_ns;
	TAILQ_FOREACH (other, &d->steps, link)
		if (other->alloc == s->alloc && other->usage.worked_ns > since)
			since = other->usage.worked_ns;
	return now > since + IDLE_NS ? (double)(now - since) / 1e9 : 0;
}

void gs_select_row(const struct gs_daemon *d, struct gs_report_row *row, struct gs_step *s,
		   struct gs_select_text *text)
{
	const struct gs_step_info *i = &s->info;
	double idle = idle_s(d, s);

	*row = (struct gs_report_row) {
		.job = i->job_id,
		.step = gs_step_name(i->step_id, text->step, sizeof(text->step)),
		.user = s->user,
		.partition = i->partition,
		.state = gs_step_state(s),
		.priority = s->priority,
		.priority_requested = -1,
		.start = s->begun_s,
		.end = s->ended_s,
		.gpu = i->gpu,
		.shares = i->shares,
		.reason = text->reason,
		.account = i->account,
		.uuid = s->alloc ? s->alloc->device->uuid : "",
		.energy_j = s->energy.known ? s->energy.mj / 1e3 : NAN,
		.idle_s = idle,
		.idle_since = idle > 0 ? (int64_t)(time(NULL) - (time_t)idle) : 0,
	};
	if (i->priority_set == GS_PRIORITY_REQUESTED && (int64_t)i->priority != s->priority)
		row->priority_requested = i->priority;
	gs_step_reason(d, s, text->reason, sizeof(text->reason));
	if (idle >= IDLE_SAID_S && !*text->reason)
		say_idle(row->idle_since, text->reason, sizeof(text->reason));
	gs_report_fill(row, &s->usage, peak_of(s), s->reservation);
	gs_report_fill_moved(row, &s->moves);
	gs_report_fill_punctual(row, &i->period, s->usage.timing);
}

static void select_from(struct gs_selection *sel, struct gs_steps *list, uint32_t job)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, list, link)
		if (!job || s->info.job_id == job)
			sel->step[sel->n++] = s;
}

void gs_selection_free(struct gs_selection *sel)
{
	free(sel->step);
	free(sel->text);
	free(sel->row);
}

int gs_select_steps(struct gs_daemon *d, uint32_t job, int finished, enum gs_with with,
		    struct gs_selection *sel)
{
	size_t room = GS_FINISHED_MAX + GS_STEPS_MAX;
	struct gs_step *s;

	memset(sel, 0, sizeof(*sel));
	gs_devices_sync(d, with != GS_KERNELS ? 0 : job ? job : GS_KERNELS_OF_ALL);
	TAILQ_FOREACH (s, &d->steps, link)
		gs_lease_note_peak(d, s->alloc);
	sel->step = calloc(room, sizeof(struct gs_step *));
	if (!sel->step)
		return -1;
	if (finished)
		select_from(sel, &d->finished.list, job);
	select_from(sel, &d->steps, job);
	sel->text = calloc(sel->n + 1, sizeof(*sel->text));
	sel->row = calloc(sel->n + 1, sizeof(*sel->row));
	if (!sel->text || !sel->row) {
		gs_selection_free(sel);
		return -1;
	}
	for (size_t i = 0; i < sel->n; i++)
		gs_select_row(d, &sel->row[i], sel->step[i], &sel->text[i]);
	return 0;
}
