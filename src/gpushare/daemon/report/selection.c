/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choosing steps and reading their figures; see selection.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/selection.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory_lease.h"

static const char *step_name(const struct gs_step *s, char names[][16], size_t i)
{
	return gs_step_name(s->info.step_id, names[i], sizeof(names[i]));
}

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

static double idle_s(const struct gs_step *s)
{
	uint64_t now = gs_clock_ns(), since;

	if (!s->alloc)
		return 0;
	since = s->usage.worked_ns ? s->usage.worked_ns : s->alloc->arrived_ns;
	return now > since + IDLE_NS ? (double)(now - since) / 1e9 : 0;
}

void gs_select_row(struct gs_report_row *row, struct gs_step *s, const char *name)
{
	row->job = s->info.job_id;
	row->step = name;
	row->user = s->user;
	row->partition = s->info.partition;
	row->account = s->info.account;
	row->uuid = s->alloc ? s->alloc->device->uuid : "";
	row->energy_j = s->energy.mj / 1e3;
	row->idle_s = idle_s(s);
	row->gpu = s->info.gpu;
	row->shares = s->info.shares;
	gs_report_fill(row, &s->usage, peak_of(s), s->reservation);
	gs_report_fill_moved(row, &s->moves);
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
	free(sel->name);
	free(sel->row);
}

int gs_select_steps(struct gs_daemon *d, uint32_t job, int finished, enum gs_with with,
		    struct gs_selection *sel)
{
	size_t room = GS_FINISHED_MAX + GS_STEPS_MAX;
	struct gs_step *s;

	memset(sel, 0, sizeof(*sel));
	gs_devices_sync(d, with == GS_KERNELS);
	TAILQ_FOREACH (s, &d->steps, link)
		gs_lease_note_peak(d, s->alloc);
	sel->step = calloc(room, sizeof(struct gs_step *));
	if (!sel->step)
		return -1;
	if (finished)
		select_from(sel, &d->finished.list, job);
	select_from(sel, &d->steps, job);
	sel->name = calloc(sel->n + 1, sizeof(*sel->name));
	sel->row = calloc(sel->n + 1, sizeof(*sel->row));
	if (!sel->name || !sel->row) {
		gs_selection_free(sel);
		return -1;
	}
	for (size_t i = 0; i < sel->n; i++)
		gs_select_row(&sel->row[i], sel->step[i], step_name(sel->step[i], sel->name, i));
	return 0;
}
