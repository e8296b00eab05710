/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a process's step by cgroup or by ancestry; see identity.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/identity.h"

#include <stdio.h>
#include <string.h>

#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/step_cgroup.h"
#include "gpushare/proto/job_name.h"

/* Set if the process is in a step of a registered job that has no shares itself. */
struct elsewhere {
	const struct gs_step *step; /* NULL: it is not */
	uint32_t step_id;           /* the step that the process is in */
};

/* Comparing with every registrant would be slow, and only those of one job can match. */
static int mentions_job(const char *lines, uint32_t job_id)
{
	char name[24];
	size_t length = (size_t)snprintf(name, sizeof(name), "/job_%u/", job_id);

	return memmem(lines, strlen(lines), name, length) != NULL;
}

static struct gs_step *by_cgroup(struct gs_daemon *d, const char *proc,
				 const struct gs_claim *claim, struct elsewhere *elsewhere)
{
	char lines[GS_STEP_CGROUP_TEXT_MAX], registrant[GS_STEP_CGROUP_TEXT_MAX];
	struct gs_step *s;

	if (gs_step_cgroup_read(proc, claim->pid, lines, sizeof(lines)) < 0)
		return NULL;
	TAILQ_FOREACH (s, &d->steps, link) {
		uint32_t other;

		if (s->info.local || !mentions_job(lines, s->info.job_id) ||
		    gs_step_cgroup_read(proc, s->info.registrant, registrant, sizeof(registrant)) <
			    0)
			continue;
		switch (gs_step_cgroup_find(lines, registrant, s->info.job_id, s->info.step_id,
					    &other)) {
		case GS_IN_THIS_STEP:
			return s;
		case GS_IN_OTHER_STEP:
			*elsewhere = (struct elsewhere) { s, other };
			break;
		case GS_IN_NO_STEP:
			break;
		}
	}
	return NULL;
}

/* A process may have registered several local steps: take the requested one, else the first. */
static struct gs_step *registered_by(struct gs_daemon *d, pid_t pid, uint64_t start,
				     uint32_t job_id)
{
	struct gs_step *s, *first = NULL;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (s->info.registrant != pid || s->info.start != start)
			continue;
		if (s->info.job_id == job_id)
			return s;
		if (!first)
			first = s;
	}
	return first;
}

/* An ancestor that is younger than its child has a reused number, so the chain ends there. */
static struct gs_step *by_ancestry(struct gs_daemon *d, const char *proc,
				   const struct gs_claim *claim)
{
	uint64_t youngest = UINT64_MAX;
	pid_t pid = claim->pid;
	struct gs_proc p;

	for (int depth = 0; depth < GS_PROC_DEPTH_MAX && pid > 0; depth++) {
		struct gs_step *s;

		if (gs_proc_read_at(proc, pid, &p) < 0 || p.start > youngest)
			return NULL;
		s = registered_by(d, pid, p.start, claim->job_id);
		if (s)
			return s;
		youngest = p.start;
		pid = p.ppid;
	}
	return NULL;
}

static void explain(struct gs_daemon *d, const struct gs_claim *claim,
		    const struct elsewhere *elsewhere, enum gs_refusal *code, struct gs_error *err)
{
	const struct gs_step *s;
	char name[16];

	*code = GS_REFUSED_UNKNOWN_STEP;
	if (elsewhere->step) {
		gs_fail(err, "job " GS_JOB_F ".%s, in which this process is, has no shares here",
			GS_JOB(elsewhere->step->info.job_id),
			gs_step_name(elsewhere->step_id, name, sizeof(name)));
		return;
	}
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == claim->job_id) {
			*code = GS_REFUSED_NOT_YOURS;
			gs_fail(err,
				"job " GS_JOB_F
				" is not this process's: it is in the cgroup of none of the "
				"job's steps, and was not started by one as its user",
				GS_JOB(claim->job_id));
			return;
		}
	gs_fail(err, "job " GS_JOB_F " has registered no such step here", GS_JOB(claim->job_id));
}

struct gs_step *gs_identify(struct gs_daemon *d, const char *proc, const struct gs_claim *claim,
			    enum gs_refusal *code, struct gs_error *err)
{
	struct gs_step *ancestor = by_ancestry(d, proc, claim), *s;
	struct elsewhere elsewhere = { 0 };
	struct gs_proc now;

	if (ancestor && ancestor->info.uid != claim->uid)
		ancestor = NULL;
	/* A program that `gpusharectl run` starts within a job is in the cgroup of the job's step,
	 * too. */
	s = ancestor && ancestor->info.local && ancestor->info.job_id == claim->job_id ?
		    ancestor :
		    by_cgroup(d, proc, claim, &elsewhere);
	if (!s && !elsewhere.step)
		s = ancestor;
	/* The number may have been reused while /proc was read. */
	if (s && (gs_proc_read_at(proc, claim->pid, &now) < 0 || now.start != claim->start))
		s = NULL;
	if (!s)
		explain(d, claim, &elsewhere, code, err);
	return s;
}
