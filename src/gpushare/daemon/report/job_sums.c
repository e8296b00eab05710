/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up what each job's ended steps had; see job_sums.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/job_sums.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/log.h"

#define JOBS_MAX 4096

struct job {
	struct gs_report_row sum;
	TAILQ_ENTRY(job) link;
};

/* That of which a step ended last is the last one. */
static TAILQ_HEAD(, job) jobs = TAILQ_HEAD_INITIALIZER(jobs);
static size_t njobs;

static struct job *find(uint32_t job_id)
{
	struct job *j;

	TAILQ_FOREACH (j, &jobs, link)
		if (j->sum.job == job_id)
			return j;
	return NULL;
}

static const struct gs_step *first_step(const struct gs_daemon *d, uint32_t job_id)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == job_id)
			return s;
	return NULL;
}

static void forget(struct job *j)
{
	TAILQ_REMOVE(&jobs, j, link);
	njobs--;
	free(j);
}

static void forget_oldest(const struct gs_daemon *d)
{
	struct job *j;

	TAILQ_FOREACH (j, &jobs, link)
		if (!first_step(d, j->sum.job)) {
			forget(j);
			return;
		}
}

/* The job, as the last one of the list; NULL: no memory. */
static struct job *of_job(const struct gs_daemon *d, uint32_t job_id)
{
	struct job *j = find(job_id);

	if (j) {
		TAILQ_REMOVE(&jobs, j, link);
		TAILQ_INSERT_TAIL(&jobs, j, link);
		return j;
	}
	if (njobs >= JOBS_MAX)
		forget_oldest(d);
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	j->sum.job = job_id;
	TAILQ_INSERT_TAIL(&jobs, j, link);
	njobs++;
	return j;
}

void gs_job_sums_add(struct gs_report_row *sum, const struct gs_report_row *row)
{
	sum->gpu = row->gpu;
	sum->shares = row->shares > sum->shares ? row->shares : sum->shares;
	sum->active_ms += row->active_ms;
	sum->waiting_ms += row->waiting_ms;
	sum->turnaround_ms += row->turnaround_ms;
	sum->preemptions += row->preemptions;
	sum->h2d_mb += row->h2d_mb;
	sum->d2h_mb += row->d2h_mb;
	sum->memory_mb = fmax(sum->memory_mb, row->memory_mb);
	sum->reserved_mb = fmax(sum->reserved_mb, row->reserved_mb);
}

void gs_job_sums_note(const struct gs_daemon *d, const struct gs_report_row *ended)
{
	struct job *j = of_job(d, ended->job);

	if (j)
		gs_job_sums_add(&j->sum, ended);
	else
		gs_log(GS_LOG_ERROR, "job %u: no memory for what its steps had", ended->job);
}

const struct gs_report_row *gs_job_sums_find(uint32_t job_id)
{
	const struct job *j = find(job_id);

	return j ? &j->sum : NULL;
}

void gs_job_sums_fini(void)
{
	struct job *j;

	while ((j = TAILQ_FIRST(&jobs)))
		forget(j);
}

/* ---- across a restart ------------------------------------------------- */

static void print(const struct gs_daemon *d, const struct gs_step *s, FILE *f)
{
	const struct gs_report_row *sum = gs_job_sums_find(s->info.job_id);

	if (!sum || first_step(d, s->info.job_id) != s)
		return;
	fprintf(f, "job %u %u %u %.6f %.6f %.6f %" PRIu64 " %.6f %.6f %.6f %.6f\n", sum->job,
		sum->gpu, sum->shares, sum->active_ms, sum->waiting_ms, sum->turnaround_ms,
		sum->preemptions, sum->h2d_mb, sum->d2h_mb, sum->memory_mb, sum->reserved_mb);
}

/* A file that somebody has changed must not make figures of which no sum can be made. */
static int is_sound(const struct gs_report_row *row)
{
	const double figure[] = { row->active_ms, row->waiting_ms, row->turnaround_ms, row->h2d_mb,
				  row->d2h_mb,    row->memory_mb,  row->reserved_mb };

	for (size_t i = 0; i < sizeof(figure) / sizeof(figure[0]); i++)
		if (!isfinite(figure[i]) || figure[i] < 0)
			return 0;
	return 1;
}

static int parse(struct gs_daemon *d, const char *line)
{
	struct gs_report_row had = { 0 };
	struct job *j;
	int at = 0;

	if (sscanf(line, "job %u %u %u %lf %lf %lf %" SCNu64 " %lf %lf %lf %lf%n", &had.job,
		   &had.gpu, &had.shares, &had.active_ms, &had.waiting_ms, &had.turnaround_ms,
		   &had.preemptions, &had.h2d_mb, &had.d2h_mb, &had.memory_mb, &had.reserved_mb,
		   &at) != 11 ||
	    line[at] || !is_sound(&had))
		return 0;
	j = of_job(d, had.job);
	if (j)
		gs_job_sums_add(&j->sum, &had);
	return 1;
}

const struct gs_state_part gs_job_sums_part = { .print = print, .parse = parse };
