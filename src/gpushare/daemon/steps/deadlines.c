/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Missed deadlines in the log; see deadlines.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/deadlines.h"

#include <inttypes.h>

#include "common/clock.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/proto/job_name.h"

#define EVERY_NS GS_NS_PER_S

void gs_deadlines_say(struct gs_step *s)
{
	const struct gs_timing *timing = s->usage.timing;
	char name[16];

	if (!timing || timing->missed <= s->missed_said)
		return;
	gs_user_log(s->info.uid,
		    "job " GS_JOB_F ".%s uid %u: missed %" PRIu64 " deadlines; in all %" PRIu64
		    " of %" PRIu64 " bursts, the latest end %.3f ms after its deadline",
		    GS_JOB(s->info.job_id), gs_step_name(s->info.step_id, name, sizeof(name)),
		    (unsigned)s->info.uid, timing->missed - s->missed_said, timing->missed,
		    timing->jobs, (double)timing->of[GS_TIMING_TARDINESS].most_ns / 1e6);
	s->missed_said = timing->missed;
}

void gs_deadlines_sweep(struct gs_daemon *d)
{
	static uint64_t last_ns;
	uint64_t now = gs_clock_ns();
	struct gs_step *s;
	int any = 0;

	if (now - last_ns < EVERY_NS)
		return;
	last_ns = now;
	TAILQ_FOREACH (s, &d->steps, link)
		any |= s->usage.timing != NULL;
	if (!any)
		return;
	gs_devices_sync(d, 0);
	TAILQ_FOREACH (s, &d->steps, link)
		gs_deadlines_say(s);
}
