/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line per event, with the time; see log.h. */
#define _GNU_SOURCE
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "common/text.h"

static const char *const level_name[] = { "error", "warn", "info", "debug" };

static struct {
	FILE *file;
	const char *program;
	enum gs_log_level level;
} out = { NULL, "gpushare", GS_LOG_INFO };

int gs_log_open(const char *program, const char *path, enum gs_log_level level)
{
	FILE *file = stderr;

	if (path && strcmp(path, "-") != 0) {
		file = fopen(path, "ae");
		if (!file)
			return -1;
		setvbuf(file, NULL, _IOLBF, 0);
	}
	gs_log_close();
	out.file = file;
	out.program = program;
	out.level = level;
	return 0;
}

void gs_log_close(void)
{
	if (out.file && out.file != stderr)
		fclose(out.file);
	out.file = NULL;
}

int gs_log_level_parse(const char *name)
{
	for (int i = 0; i <= GS_LOG_DEBUG; i++)
		if (strcmp(name, level_name[i]) == 0)
			return i;
	return -1;
}

void gs_log(enum gs_log_level level, const char *fmt, ...)
{
	int saved = errno;
	char text[1024], stamp[32];
	struct timeval now;
	struct tm tm;
	va_list ap;

	if (level > out.level)
		return;
	gettimeofday(&now, NULL);
	localtime_r(&now.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A user's text may have a newline in it, and a line is one event, or steer a terminal. */
	gs_text_disarm(text);
	fprintf(out.file ? out.file : stderr, "%s.%03d %s: %s: %s\n", stamp,
		(int)(now.tv_usec / 1000), out.program, level_name[level], text);
	errno = saved;
}
