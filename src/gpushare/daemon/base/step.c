/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking steps up; see step.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/step.h"

#include <stdio.h>

#include "gpushare/daemon/base/proc.h"

const char *gs_step_name(uint32_t step_id, char *buf, size_t size)
{
	switch (step_id) {
	case GS_STEP_BATCH:
		return "batch";
	case GS_STEP_EXTERN:
		return "extern";
	case GS_STEP_INTERACTIVE:
		return "interactive";
	}
	snprintf(buf, size, "%u", step_id);
	return buf;
}

struct gs_step *gs_step_find(struct gs_daemon *d, uint32_t job_id, uint32_t step_id)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == job_id && s->info.step_id == step_id)
			return s;
	return NULL;
}

uint32_t gs_steps_shares(const struct gs_daemon *d, const struct gs_device *device)
{
	const struct gs_step *s;
	uint32_t shares = 0;

	/* Each allocation once: at the step that is the first of its steps. */
	TAILQ_FOREACH (s, &d->steps, link) {
		const struct gs_step *other;

		TAILQ_FOREACH (other, &d->steps, link)
			if (other->alloc == s->alloc)
				break;
		if (other == s && s->alloc->device == device)
			shares += s->alloc->shares;
	}
	return shares;
}

int gs_step_owns(const struct gs_step *s, uid_t uid, pid_t pid)
{
	return s->info.uid == uid && gs_proc_descends(pid, s->info.registrant, s->info.start);
}

struct gs_step *gs_step_claim(struct gs_daemon *d, uint32_t job_id, uint32_t step_id, uid_t uid,
			      pid_t pid, enum gs_refusal *code, struct gs_error *err)
{
	struct gs_step *s;
	int known = 0;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (s->info.job_id != job_id ||
		    (step_id != GS_STEP_ANY && s->info.step_id != step_id))
			continue;
		known = 1;
		if (gs_step_owns(s, uid, pid))
			return s;
	}
	*code = known ? GS_REFUSED_NOT_YOURS : GS_REFUSED_UNKNOWN_STEP;
	if (known)
		gs_fail(err,
			"job %u is not this process's: it is another user's, or the "
			"process was not started by it",
			job_id);
	else
		gs_fail(err, "job %u has registered no such step here", job_id);
	return NULL;
}
