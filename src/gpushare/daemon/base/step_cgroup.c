/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a process's step by its cgroup; see step_cgroup.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/step_cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpushare/daemon/base/step.h"

#define DIGITS "0123456789"

/* A part of a text, not terminated. */
struct span {
	const char *at;
	size_t length;
};

/* "4:freezer:/slurm/uid_0/job_5": hierarchy, controllers, path. */
struct line {
	struct span controllers, path;
};

/* Takes the next whole line off *text; returns 0 if there is none. */
static int next_line(const char **text, struct line *line)
{
	while (**text) {
		const char *begin = *text, *end = begin + strcspn(begin, "\n");
		const char *first = memchr(begin, ':', (size_t)(end - begin));
		const char *second =
			first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;

		*text = *end ? end + 1 : end;
		if (!second || second[1] != '/')
			continue;
		line->controllers = (struct span) { first + 1, (size_t)(second - first - 1) };
		line->path = (struct span) { second + 1, (size_t)(end - second - 1) };
		return 1;
	}
	return 0;
}

static int same(struct span a, struct span b)
{
	return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* The path up to its last component job_<number>, which root's slurmstepd is in; empty if there is
 * none. */
static struct span job_part(struct span path, uint32_t job_id)
{
	char name[24];
	size_t length = (size_t)snprintf(name, sizeof(name), "/job_%u", job_id);
	struct span part = { path.at, 0 };

	for (size_t i = 0; i + length <= path.length; i++) {
		size_t end = i + length;

		if (memcmp(path.at + i, name, length) == 0 &&
		    (end == path.length || path.at[end] == '/'))
			part.length = end;
	}
	return part;
}

int gs_step_cgroup_number(const char *component, uint32_t *step_id)
{
	static const struct {
		const char *name;
		uint32_t step_id;
	} special[] = { { "batch", GS_STEP_BATCH },
			{ "extern", GS_STEP_EXTERN },
			{ "interactive", GS_STEP_INTERACTIVE } };
	uint64_t number = 0;
	size_t n, length;

	if (strncmp(component, "step_", 5) != 0)
		return -1;
	component += 5;
	length = strcspn(component, "/\n");
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (length == strlen(special[i].name) &&
		    memcmp(component, special[i].name, length) == 0) {
			*step_id = special[i].step_id;
			return 0;
		}
	n = strspn(component, DIGITS);
	if (n == 0 || n > 10)
		return -1;
	for (size_t i = 0; i < n; i++)
		number = number * 10 + (uint64_t)(component[i] - '0');
	if (component[n] == '+') {
		size_t part = strspn(component + n + 1, DIGITS);

		n += part ? part + 1 : 0;
	}
	if (n != length || number >= GS_STEP_INTERACTIVE)
		return -1;
	*step_id = (uint32_t)number;
	return 0;
}

/* The step whose cgroup, below the job's, contains the path; -1: none. */
static int step_below(struct span path, struct span job, uint32_t *step_id)
{
	if (!job.length || path.length <= job.length + 1 ||
	    memcmp(path.at, job.at, job.length) != 0 || path.at[job.length] != '/')
		return -1;
	return gs_step_cgroup_number(path.at + job.length + 1, step_id);
}

/* Is this the hierarchy in which Slurm itself tracks a step's processes? */
static int decides(struct span controllers)
{
	return controllers.length == 0 ||
	       memmem(controllers.at, controllers.length, "freezer", 7) != NULL;
}

/* Compares one line of the process with the registrant's lines. */
static int find_step(const struct line *process, const char *registrant, uint32_t job_id,
		     uint32_t *step_id)
{
	struct line own;

	while (next_line(&registrant, &own))
		if (same(own.controllers, process->controllers) &&
		    step_below(process->path, job_part(own.path, job_id), step_id) == 0)
			return 0;
	return -1;
}

enum gs_in_cgroup gs_step_cgroup_find(const char *process, const char *registrant, uint32_t job_id,
				      uint32_t step_id, uint32_t *other)
{
	enum gs_in_cgroup in = GS_IN_NO_STEP;
	struct line line;
	uint32_t found;

	while (next_line(&process, &line)) {
		if (find_step(&line, registrant, job_id, &found) < 0)
			continue;
		if (in != GS_IN_NO_STEP && !decides(line.controllers))
			continue;
		in = found == step_id ? GS_IN_THIS_STEP : GS_IN_OTHER_STEP;
		if (other)
			*other = found;
		if (decides(line.controllers))
			break;
	}
	return in;
}

int gs_step_cgroup_read(const char *proc, pid_t pid, char *buf, size_t size)
{
	char path[256];
	size_t used = 0;
	ssize_t n = -1;
	int fd;

	buf[0] = '\0';
	snprintf(path, sizeof(path), "%s/%d/cgroup", proc, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (used + 1 < size && (n = read(fd, buf + used, size - used - 1)) > 0)
		used += (size_t)n;
	close(fd);
	buf[n < 0 ? 0 : used] = '\0';
	return n < 0 || !used ? -1 : 0;
}
