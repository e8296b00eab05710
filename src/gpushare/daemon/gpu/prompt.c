/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scheduling priorities of the daemon's threads; see prompt.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/gpu/prompt.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/slice.h"

#define NICEST (-20)

int gs_be_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, NICEST); /* on Linux this affects only this thread */
}

enum gs_prompt gs_be_prompt(int wanted)
{
	struct sched_param real_time = { .sched_priority = 1 }, ordinary = { 0 };
	enum gs_prompt prompt = GS_PROMPT_NOT;
	int why;

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (!wanted)
		return GS_PROMPT_NOT;
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &real_time) == 0)
		return GS_PROMPT_REAL_TIME;
	/* A container's control group may have no real-time budget, even for root. */
	why = errno;
	if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &ordinary) == 0 &&
	    gs_be_nice() == 0)
		prompt = GS_PROMPT_NICE;
	gs_slice_short(); /* if refused, it is woken as on a Linux before 6.12 */
	errno = why;
	return prompt;
}
