/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs of each GPU as files; see job_map.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/job_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/log.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/report/new_file.h"

/* What the files say, and where. */
static struct {
	char *dir, *jobs[GS_CONFIG_GPUS_MAX];
	int failed; /* as the log says already */
} written;

/* Its steps follow each other only by chance. */
static int is_first_of_job(const struct gs_daemon *d, const struct gs_step *step)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s == step)
			return 1;
		else if (s->info.job_id == step->info.job_id && s->info.gpu == step->info.gpu)
			return 0;
	return 1;
}

/* NULL: no memory. */
static char *jobs_of(const struct gs_daemon *d, const struct gs_device *device)
{
	const struct gs_step *s;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.gpu == device->index && !s->info.local && is_first_of_job(d, s))
			fprintf(out, "%u\n", s->info.job_id);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void forget(const char *dir)
{
	if (written.dir && strcmp(written.dir, dir) == 0)
		return;
	for (size_t i = 0; i < GS_CONFIG_GPUS_MAX; i++) {
		free(written.jobs[i]);
		written.jobs[i] = NULL;
	}
	free(written.dir);
	written.dir = strdup(dir);
	written.failed = 0;
}

static int write_jobs(const char *dir, const struct gs_device *device, const char *jobs,
		      struct gs_error *err)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s/%u", dir, device->index) >= (int)sizeof(path))
		return gs_fail(err, "DcgmJobDir is too long");
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make %s", dir);
	return gs_new_file(path, jobs, err);
}

static void update(const char *dir, const struct gs_device *device, char **known, char *jobs)
{
	struct gs_error err;

	if (*known && strcmp(*known, jobs) == 0) {
		free(jobs);
		return;
	}
	if (write_jobs(dir, device, jobs, &err) < 0) {
		if (!written.failed)
			gs_log(GS_LOG_WARN, "%s", err.text);
		written.failed = 1;
		free(jobs);
		return;
	}
	written.failed = 0;
	free(*known);
	*known = jobs;
}

void gs_job_map_update(struct gs_daemon *d)
{
	const char *dir = d->config->dcgm_job_dir;

	if (!*dir)
		return;
	forget(dir);
	for (size_t i = 0; i < d->ndevice; i++) {
		char *jobs = jobs_of(d, &d->device[i]);

		if (jobs)
			update(dir, &d->device[i], &written.jobs[i], jobs);
	}
}
