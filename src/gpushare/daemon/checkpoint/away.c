/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is on the host, and keeping that across a restart; see away.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/away.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "gpushare/config/config.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/proto/job_name.h"

/* How often to poll whether an earlier daemon's gpushare-mem has ended. */
#define POLL_NS (100 * GS_NS_PER_MS)

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

int gs_away_is_being_moved(const struct gs_daemon *d, struct gs_away *away, uint64_t now)
{
	if (!away->helper || !gs_proc_alive(away->helper, away->helper_start)) {
		away->helper = 0;
		return 0;
	}
	if (now - d->started_ns > d->config->memory_preempt_timeout_ns)
		kill(away->helper, SIGKILL);
	away->again_ns = now + POLL_NS;
	return 1;
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
	if (s->alloc->away->helper)
		fprintf(f, "moving %u %u %d %" PRIu64 "\n", s->info.job_id, s->info.step_id,
			(int)s->alloc->away->helper, s->alloc->away->helper_start);
}

/* Comes behind the lines of its processes. */
static int parse_moving(struct gs_daemon *d, const char *line)
{
	unsigned job, step;
	struct gs_step *s;
	uint64_t start;
	int pid, at = 0;

	if (sscanf(line, "moving %u %u %d %" SCNu64 "%n", &job, &step, &pid, &start, &at) != 4 ||
	    line[at] || pid <= 1)
		return 0;
	s = gs_step_find(d, job, step);
	if (s && s->alloc->away) {
		s->alloc->away->helper = pid;
		s->alloc->away->helper_start = start;
	}
	return 1;
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
		return parse_moving(d, line);
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
