/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the registered steps across a restart; see state.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/state.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/local_job.h"
#include "gpushare/daemon/base/own_file.h"
#include "gpushare/daemon/base/step.h"

#define HEADER "gpushare state 2"
#define PARTS_MAX 8
#define PATH_ROOM 512
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 40 /* a UUID */

static const struct gs_state_part *parts[PARTS_MAX];
static size_t nparts;
static struct event *soon; /* fires when the file is to be saved */

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

/* "-": it is not known. */
static const char *boot_id(char id[BOOT_ID_SIZE])
{
	FILE *f = fopen(BOOT_ID, "re");

	if (!f || fscanf(f, "%39s", id) != 1)
		strcpy(id, "-");
	if (f)
		fclose(f);
	return id;
}

static int write_all(struct gs_daemon *d, FILE *f)
{
	char boot[BOOT_ID_SIZE];
	struct gs_step *s;

	/* Daemons of before the boot id read no further than the number. */
	fprintf(f, HEADER " %u boot %s\n", d->next_local ? d->next_local : GS_LOCAL_JOB_FIRST,
		boot_id(boot));
	TAILQ_FOREACH (s, &d->steps, link)
		for (size_t i = 0; i < nparts; i++)
			if (parts[i]->print)
				parts[i]->print(d, s, f);
	print_rest(d, f);
	return ferror(f) ? -1 : 0;
}

int gs_state_save(struct gs_daemon *d)
{
	char path[PATH_ROOM];
	FILE *f;

	for (size_t i = 0; i < nparts; i++)
		if (parts[i]->prepare)
			parts[i]->prepare(d);
	state_path(d, path, sizeof(path));
	if (!d->next_local && !any_to_keep(d)) {
		unlink(path);
		return 0;
	}
	f = gs_own_file_begin(path);
	return f ? gs_own_file_end(f, path, write_all(d, f)) : -1;
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	gs_state_save(arg);
}

void gs_state_save_soon(struct gs_daemon *d)
{
	static const struct timeval wait = { 0, 100000 };

	if (!soon && d->base)
		soon = gs_event_new(d->base, -1, 0, on_soon, d);
	if (soon && !evtimer_pending(soon, NULL))
		evtimer_add(soon, &wait);
}

void gs_state_fini(void)
{
	gs_event_free(soon);
	soon = NULL;
}

/* Returns 1 if the line was read. */
static int load_line(struct gs_daemon *d, const char *path, const char *line)
{
	for (size_t i = 0; i < nparts; i++)
		if (parts[i]->parse(d, line))
			return 1;
	gs_log(GS_LOG_WARN, "%s: a line that makes no sense: dropped", path);
	return 0;
}

/* Numbers and start times of processes, by which the lines name steps, mean others after a boot. */
static int is_of_this_boot(const char *then)
{
	char now[BOOT_ID_SIZE];

	boot_id(now);
	return strcmp(then, "-") == 0 || strcmp(now, "-") == 0 || strcmp(then, now) == 0;
}

/* Returns -1 if there is something that could not be read. */
static int load_all(struct gs_daemon *d, const char *path, FILE *f)
{
	char line[GS_STATE_LINE_MAX], boot[BOOT_ID_SIZE] = "-";
	uint64_t next;
	int rc = 0;

	if (!fgets(line, sizeof(line), f) ||
	    sscanf(line, HEADER " %" SCNu64 " boot %39s", &next, boot) < 1 || next > UINT32_MAX ||
	    !gs_local_job((uint32_t)next)) {
		gs_log(GS_LOG_WARN, "%s: of another version, or damaged: ignored", path);
		return -1;
	}
	d->next_local = gs_local_job_later((uint32_t)next, d->next_local);
	if (!is_of_this_boot(boot)) {
		gs_log(GS_LOG_INFO, "%s: of before the node booted: its steps are over", path);
		return 0;
	}
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!load_line(d, path, line))
			rc = -1;
	}
	return rc;
}

/* For the administrator; only the newest is kept. */
static void set_aside(const char *path)
{
	char aside[PATH_ROOM + sizeof(".corrupt")];

	snprintf(aside, sizeof(aside), "%s.corrupt", path);
	if (rename(path, aside) == 0)
		gs_log(GS_LOG_WARN, "%s: set aside as .corrupt", path);
	else
		gs_log(GS_LOG_ERROR, "cannot set %s aside: %s", path, strerror(errno));
}

void gs_state_load(struct gs_daemon *d)
{
	char path[PATH_ROOM];
	struct stat st;
	FILE *f;

	state_path(d, path, sizeof(path));
	f = gs_own_file_open(path);
	if (!f) {
		if (lstat(path, &st) == 0)
			set_aside(path); /* a folder would be in the new file's way */
		return;
	}
	if (load_all(d, path, f) < 0)
		set_aside(path);
	fclose(f);
	for (size_t i = 0; i < nparts; i++)
		if (parts[i]->loaded)
			parts[i]->loaded(d);
	gs_state_save(d);
}
