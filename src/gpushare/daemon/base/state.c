/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the registered steps across a restart; see state.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/local_job.h"
#include "gpushare/daemon/base/own_file.h"
#include "gpushare/daemon/base/step.h"

#define HEADER "gpushare state 2"
#define PARTS_MAX 8

static const struct gs_state_part *parts[PARTS_MAX];
static size_t nparts;

void gs_state_register(const struct gs_state_part *part)
{
	assert(nparts < PARTS_MAX);
	parts[nparts++] = part;
}

static void state_path(const struct gs_daemon *d, char *path, size_t size)
{
	snprintf(path, size, "%s.state", d->config->socket);
}

/* Writes the lines that belong to no step, or only counts them if f is NULL. */
static int print_rest(const struct gs_daemon *d, FILE *f)
{
	int n = 0;

	for (size_t i = 0; i < nparts; i++)
		if (parts[i]->print_rest)
			n += parts[i]->print_rest(d, f);
	return n;
}

static int any_to_keep(const struct gs_daemon *d)
{
	return !TAILQ_EMPTY(&d->steps) || print_rest(d, NULL);
}

static int write_all(struct gs_daemon *d, FILE *f)
{
	struct gs_step *s;

	fprintf(f, HEADER " %u\n", d->next_local ? d->next_local : GS_LOCAL_JOB_FIRST);
	TAILQ_FOREACH (s, &d->steps, link)
		for (size_t i = 0; i < nparts; i++)
			if (parts[i]->print)
				parts[i]->print(d, s, f);
	print_rest(d, f);
	return ferror(f) ? -1 : 0;
}

void gs_state_save(struct gs_daemon *d)
{
	char path[512];
	FILE *f;

	for (size_t i = 0; i < nparts; i++)
		if (parts[i]->prepare)
			parts[i]->prepare(d);
	state_path(d, path, sizeof(path));
	if (!d->next_local && !any_to_keep(d)) {
		unlink(path);
		return;
	}
	f = gs_own_file_begin(path);
	if (f)
		gs_own_file_end(f, path, write_all(d, f));
}

static void load_line(struct gs_daemon *d, const char *path, const char *line)
{
	for (size_t i = 0; i < nparts; i++)
		if (parts[i]->parse(d, line))
			return;
	gs_log(GS_LOG_WARN, "%s: a line that makes no sense: dropped", path);
}

void gs_state_load(struct gs_daemon *d)
{
	char path[512], line[GS_STATE_LINE_MAX];
	uint64_t next;
	FILE *f;

	state_path(d, path, sizeof(path));
	f = gs_own_file_open(path);
	if (!f)
		return;
	if (!fgets(line, sizeof(line), f) || sscanf(line, HEADER " %" SCNu64, &next) != 1 ||
	    next > UINT32_MAX || !gs_local_job((uint32_t)next)) {
		gs_log(GS_LOG_WARN, "%s: of another version: ignored", path);
	} else {
		d->next_local = gs_local_job_later((uint32_t)next, d->next_local);
		while (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			load_line(d, path, line);
		}
	}
	fclose(f);
	gs_state_save(d);
}
