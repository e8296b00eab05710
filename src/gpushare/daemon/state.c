/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeping the registered steps across a restart; see state.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/hold.h"
#include "gpushare/daemon/proc.h"
#include "gpushare/daemon/steps.h"
#include "gpushare/daemon/takeback.h"

#define HEADER "gpushare state 2"

static void state_path(const struct gs_daemon *d, const char *suffix, char *path, size_t size)
{
	snprintf(path, size, "%s.state%s", d->config->socket, suffix);
}

static int write_all(struct gs_daemon *d, FILE *f)
{
	struct gs_step *s;
	char line[GS_STATE_LINE_MAX];

	fprintf(f, HEADER " %u\n", d->next_local);
	TAILQ_FOREACH(s, &d->steps, link) {
		gs_state_print(&s->info, line, sizeof(line));
		fprintf(f, "%s\n", line);
		gs_takeback_print(s, f);
		gs_hold_print(s, f);
	}
	return ferror(f) ? -1 : 0;
}

void gs_state_save(struct gs_daemon *d)
{
	char path[512], fresh[512];
	FILE *f;
	int fd, bad;

	state_path(d, "", path, sizeof(path));
	state_path(d, ".new", fresh, sizeof(fresh));
	if (TAILQ_EMPTY(&d->steps)) {
		unlink(path);
		return;
	}
	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		gs_log(GS_LOG_ERROR, "cannot write %s: %s", fresh, strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	bad = write_all(d, f);
	bad |= fclose(f) != 0;
	if (bad || rename(fresh, path) < 0) {
		gs_log(GS_LOG_ERROR, "cannot write %s: %s", path, strerror(errno));
		unlink(fresh);
	}
}

/* Only a plain file of our own that nobody else can write is believed. */
static FILE *open_own(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		if (errno != ENOENT)
			gs_log(GS_LOG_WARN, "%s: %s: ignored", path, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022)) {
		gs_log(GS_LOG_WARN, "%s: not a file of this daemon: ignored", path);
		close(fd);
		return NULL;
	}
	return fdopen(fd, "r");
}

static void load_line(struct gs_daemon *d, const char *path, const char *line)
{
	struct gs_step_info info;
	struct gs_error err;

	if (gs_takeback_parse(d, line) || gs_hold_parse(d, line))
		return;
	if (gs_state_parse(line, &info) < 0) {
		gs_log(GS_LOG_WARN, "%s: a line that makes no sense: dropped", path);
		return;
	}
	if (!gs_proc_alive(info.registrant, info.start)) {
		gs_log(GS_LOG_INFO, "job %u uid %u: dropped: pid %d, which registered it, is gone",
		       info.job_id, (unsigned)info.uid, (int)info.registrant);
		return;
	}
	if (!gs_step_add(d, &info, &err)) {
		gs_log(GS_LOG_WARN, "job %u uid %u: dropped: %s", info.job_id,
		       (unsigned)info.uid, err.text);
		return;
	}
	gs_log(GS_LOG_INFO, "job %u uid %u: known from before", info.job_id, (unsigned)info.uid);
}

void gs_state_load(struct gs_daemon *d)
{
	char path[512], line[GS_STATE_LINE_MAX];
	uint32_t next;
	FILE *f;

	state_path(d, "", path, sizeof(path));
	f = open_own(path);
	if (!f)
		return;
	if (!fgets(line, sizeof(line), f) || sscanf(line, HEADER " %u", &next) != 1 ||
	    next < GS_LOCAL_JOB_FIRST) {
		gs_log(GS_LOG_WARN, "%s: of another version: ignored", path);
	} else {
		d->next_local = next;
		while (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			load_line(d, path, line);
		}
	}
	fclose(f);
	gs_state_save(d);
}
