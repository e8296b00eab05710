/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step's state in words; see step_state.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/step_state.h"

#include <stdio.h>

#include "gpushare/arbiter/gpu.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/proto/job_name.h"

static int waits(const struct gs_step *s)
{
	return s->doing == GS_DOING_WAITS || s->doing == GS_DOING_WAITS_BESIDE;
}

const char *gs_step_state(const struct gs_step *s)
{
	if (s->ended_s || !s->alloc)
		return "over";
	if (s->alloc->suspended || s->doing == GS_DOING_STOPPED || gs_suspend_keeps(s->alloc))
		return "suspended";
	if (s->alloc->away)
		return "moved";
	if (!s->alloc->admitted)
		return "memory";
	return s->doing == GS_DOING_RUNS ? "running" : waits(s) ? "waiting" : "idle";
}

/* The most urgent of those that run on its GPU; NULL: nobody does. */
static const struct gs_step *who_runs(const struct gs_daemon *d, const struct gs_step *waits)
{
	const struct gs_step *s, *found = NULL;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s != waits && s->doing == GS_DOING_RUNS && s->info.gpu == waits->info.gpu &&
		    (!found || s->priority > found->priority))
			found = s;
	return found;
}

static void why_waiting(const struct gs_daemon *d, const struct gs_step *s, char *buf, size_t size)
{
	const struct gs_step *runs = who_runs(d, s);
	const char *more = s->doing == GS_DOING_WAITS_BESIDE ?
				   "; kernels of its own that cannot leave are there as well" :
				   "";
	char name[16];

	if (!runs)
		return;
	gs_step_name(runs->info.step_id, name, sizeof(name));
	if (runs->priority > s->priority)
		snprintf(buf, size, "priority: job " GS_JOB_F ".%s has %d%s",
			 GS_JOB(runs->info.job_id), name, runs->priority, more);
	else
		snprintf(buf, size, "job " GS_JOB_F ".%s has the GPU%s", GS_JOB(runs->info.job_id),
			 name, more);
}

void gs_step_reason(const struct gs_daemon *d, const struct gs_step *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (*s->killed)
		snprintf(buf, size, "killed: %s", s->killed);
	else if (s->ended_s || !s->alloc)
		return;
	else if (!s->alloc->admitted)
		gs_memory_why(s->alloc, buf, size);
	else if (waits(s))
		why_waiting(d, s, buf, size);
}
