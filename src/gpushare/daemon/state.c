/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeping the registered steps across a restart; see state.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/carry.h"
#include "gpushare/daemon/figures.h"
#include "gpushare/daemon/hold.h"
#include "gpushare/daemon/local_job.h"
#include "gpushare/daemon/own_file.h"
#include "gpushare/daemon/proc.h"
#include "gpushare/daemon/step_line.h"
#include "gpushare/daemon/steps.h"
#include "gpushare/daemon/takeback.h"

#define HEADER "gpushare state 2"

static void state_path(const struct gs_daemon *d, char *path, size_t size)
{
	snprintf(path, size, "%s.state", d->config->socket);
}

static int any_to_keep(const struct gs_daemon *d)
{
	return !TAILQ_EMPTY(&d->steps);
}

static int write_all(struct gs_daemon *d, FILE *f)
{
	struct gs_step *s;
	char line[GS_STATE_LINE_MAX];

	fprintf(f, HEADER " %u\n", d->next_local ? d->next_local : GS_LOCAL_JOB_FIRST);
	TAILQ_FOREACH(s, &d->steps, link) {
		gs_state_print(&s->info, line, sizeof(line));
		fprintf(f, "%s\n", line);
		gs_carry_print(d, s, f);
		gs_takeback_print(s, f);
		gs_hold_print(s, f);
	}
	return ferror(f) ? -1 : 0;
}

void gs_state_save(struct gs_daemon *d)
{
	char path[512];
	FILE *f;

	gs_devices_sync(d, 0);
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
	struct gs_step_info info;
	struct gs_error err;

	if (gs_carry_parse(d, line) || gs_takeback_parse(d, line) || gs_hold_parse(d, line))
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
