/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes and reads a step's line of the state file; see step_line.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/step_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/base/state.h"

/* The period of forced evictions is stored above the flags, and one flag above that: fields of
 * their own would make files of earlier daemons unreadable. A daemon that does not know the flag
 * takes it for a period of three days, and so for a step that runs beside nobody, too. */
#define FORCE_SHIFT 2
#define NO_CORUN (1 << 30)
_Static_assert(GS_FORCE_MS_MAX << FORCE_SHIFT < NO_CORUN, "it fits");

static int flags_of(const struct gs_step_info *i)
{
	return (i->sharing.no_corun ? NO_CORUN : 0) | (int)(i->sharing.force_ms << FORCE_SHIFT) |
	       i->admitted << 1 | i->local;
}

int gs_state_print(const struct gs_step_info *i, char *buf, size_t size)
{
	char job[64] = "";

	if (i->period.deadline_ns)
		snprintf(job, sizeof(job), " %u %" PRIu64 " %" PRIu64, i->job_shares,
			 i->period.every_ns, i->period.deadline_ns);
	else if (i->job_shares)
		snprintf(job, sizeof(job), " %u", i->job_shares);
	/* Names come last, each in quotes, since each may be empty. Earlier daemons wrote no
	 * account, after it no shares of the job, and after those no period. */
	return snprintf(buf, size,
			"step %u %u %u %u %u %" PRIu64 " %u %u %d %" PRIu64
			" %d %u \"%s\" \"%s\"%s%s%s%s",
			i->job_id, i->step_id, (unsigned)i->uid, i->shares, i->gpu, i->memory,
			i->priority_set, i->priority, (int)i->registrant, i->start, flags_of(i),
			i->tier, i->partition, i->qos, *i->account || *job ? " \"" : "", i->account,
			*i->account || *job ? "\"" : "", job);
}

/* Reads a quoted name of less than `size` bytes and advances *line past it. */
static int read_name(const char **line, char *name, size_t size)
{
	const char *end = **line == '"' ? strchr(*line + 1, '"') : NULL;
	size_t n = end ? (size_t)(end - *line - 1) : size;

	if (n >= size)
		return 0;
	memcpy(name, *line + 1, n);
	name[n] = '\0';
	*line = end + 1;
	return 1;
}

int gs_state_parse(const char *line, struct gs_step_info *i)
{
	const char *whole = line;
	char again[GS_STATE_LINE_MAX];
	unsigned uid;
	int pid, flags, at = 0;

	memset(i, 0, sizeof(*i));
	if (sscanf(line, "step %u %u %u %u %u %" SCNu64 " %u %u %d %" SCNu64 " %d %u %n",
		   &i->job_id, &i->step_id, &uid, &i->shares, &i->gpu, &i->memory, &i->priority_set,
		   &i->priority, &pid, &i->start, &flags, &i->tier, &at) != 12 ||
	    !at || pid <= 1)
		return -1;
	line += at;
	if (!read_name(&line, i->partition, sizeof(i->partition)) || *line++ != ' ' ||
	    !read_name(&line, i->qos, sizeof(i->qos)) ||
	    (*line == ' ' && (line++, !read_name(&line, i->account, sizeof(i->account)))))
		return -1;
	if (*line == ' ')
		sscanf(line, " %u %" SCNu64 " %" SCNu64, &i->job_shares, &i->period.every_ns,
		       &i->period.deadline_ns);
	i->uid = uid;
	i->local = flags & 1;
	i->admitted = flags >> 1 & 1;
	i->sharing.no_corun = (flags & NO_CORUN) != 0;
	i->sharing.force_ms = (uint32_t)(flags & ~NO_CORUN) >> FORCE_SHIFT;
	i->registrant = pid;
	/* Accept only a line that would be written in exactly this form. */
	gs_state_print(i, again, sizeof(again));
	return strcmp(again, whole) == 0 ? 0 : -1;
}
