/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step as text: its name in reports, its line in the state file. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gpushare/daemon/state.h"
#include "gpushare/daemon/steps.h"

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

int gs_state_print(const struct gs_step_info *i, char *buf, size_t size)
{
	/* The partition comes last: it is the only field that might be empty. */
	return snprintf(buf, size, "step %u %u %u %u %u %" PRIu64 " %u %u %d %" PRIu64 " %d %s",
			i->job_id, i->step_id, (unsigned)i->uid, i->shares, i->gpu, i->memory,
			i->priority_set, i->priority, (int)i->registrant, i->start,
			i->local | i->admitted << 1, i->partition);
}

int gs_state_parse(const char *line, struct gs_step_info *i)
{
	char again[GS_STATE_LINE_MAX];
	unsigned uid;
	int pid, flags, at = 0;

	memset(i, 0, sizeof(*i));
	if (sscanf(line, "step %u %u %u %u %u %" SCNu64 " %u %u %d %" SCNu64 " %d %n",
		   &i->job_id, &i->step_id, &uid, &i->shares, &i->gpu, &i->memory,
		   &i->priority_set, &i->priority, &pid, &i->start, &flags, &at) != 11 ||
	    !at || strlen(line + at) >= sizeof(i->partition) || pid <= 1)
		return -1;
	i->uid = uid;
	i->local = flags & 1;
	i->admitted = flags >> 1 & 1;
	i->registrant = pid;
	strcpy(i->partition, line + at);
	/* Whatever would not be written like this was not written by us. */
	gs_state_print(i, again, sizeof(again));
	return strcmp(again, line) == 0 ? 0 : -1;
}
