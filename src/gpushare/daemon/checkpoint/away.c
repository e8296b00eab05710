/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is on the host, and keeping that across a restart; see away.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/away.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpushare/daemon/base/proc.h"
#include "gpushare/proto/job_name.h"

int gs_away_is_first(const struct gs_daemon *d, const struct gs_step *s)
{
	const struct gs_step *other;

	TAILQ_FOREACH (other, &d->steps, link)
		if (other->alloc == s->alloc)
			return other == s;
	return 0;
}

const char *gs_checkpoint_name(struct gs_daemon *d, const struct gs_alloc *a, char *buf,
			       size_t size)
{
	const struct gs_step *s;
	char name[16];

	snprintf(buf, size, "a step that is over");
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc == a) {
			snprintf(buf, size, "job " GS_JOB_F ".%s", GS_JOB(s->info.job_id),
				 gs_step_name(s->info.step_id, name, sizeof(name)));
			break;
		}
	return buf;
}

uint64_t gs_checkpoint_on_host(const struct gs_daemon *d)
{
	const struct gs_away_process *p;
	const struct gs_step *s;
	uint64_t bytes = 0;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->away && gs_away_is_first(d, s))
			LIST_FOREACH (p, &s->alloc->away->processes, link)
				bytes += p->bytes;
	return bytes;
}

int gs_suspend_keeps(const struct gs_alloc *a)
{
	return a->suspended && a->away && a->away->released && !a->away->queued;
}

int gs_suspend_settled(const struct gs_alloc *a)
{
	return a->suspended ? gs_suspend_keeps(a) : !a->away || a->away->released;
}

void gs_checkpoint_drop(struct gs_away_process *p)
{
	LIST_REMOVE(p, link);
	free(p);
}

/* ---- across a restart ---------------------------------------------------- */

static void print(const struct gs_daemon *d, const struct gs_step *s, FILE *f)
{
	const struct gs_away_process *p;

	(void)d;
	if (!s->alloc->away)
		return;
	LIST_FOREACH (p, &s->alloc->away->processes, link)
		fprintf(f, "away %u %u %d %" PRIu64 " %" PRIu64 "\n", s->info.job_id,
			s->info.step_id, (int)p->pid, p->start, p->bytes);
}

static int parse(struct gs_daemon *d, const char *line)
{
	struct gs_away_process *p, *other;
	struct gs_away *away;
	struct gs_step *s;
	unsigned job, step;
	uint64_t start, bytes;
	int pid, at = 0;

	if (sscanf(line, "away %u %u %d %" SCNu64 " %" SCNu64 "%n", &job, &step, &pid, &start,
		   &bytes, &at) != 5 ||
	    line[at] || pid <= 1)
		return 0;
	s = gs_step_find(d, job, step);
	if (!s || !gs_proc_alive(pid, start))
		return 1;
	if (!s->alloc->away)
		s->alloc->away = calloc(1, sizeof(*away));
	away = s->alloc->away;
	p = away ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return 1;
	LIST_FOREACH (other, &away->processes, link)
		if (other->pid == pid) {
			free(p);
			return 1; /* a line of another step of the allocation has said so */
		}
	*p = (struct gs_away_process) { .pid = pid, .start = start, .bytes = bytes };
	LIST_INSERT_HEAD(&away->processes, p, link);
	away->released = !s->alloc->admitted;
	away->queued = 1;
	return 1;
}

const struct gs_state_part gs_checkpoint_part = { .print = print, .parse = parse };
