/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds steps; see step.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/step.h"

#include <stdio.h>

const char *gs_step_name(uint32_t step_id, char *buf, size_t size)
{
	switch (step_id) {
	case GS_STEP_BATCH:
		snprintf(buf, size, "batch");
		break;
	case GS_STEP_EXTERN:
		snprintf(buf, size, "extern");
		break;
	case GS_STEP_INTERACTIVE:
		snprintf(buf, size, "interactive");
		break;
	default:
		snprintf(buf, size, "%u", step_id);
	}
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

	/* Count each allocation once, at the first of its steps. */
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
