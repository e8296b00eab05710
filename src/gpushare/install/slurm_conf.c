/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's configuration files, line by line; see slurm_conf.h. */
#define _GNU_SOURCE
#include "gpushare/install/slurm_conf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define INCLUDES_MAX 8 /* files within files */
#define LINES_MAX 100000

struct gs_slurm_conf {
	char **line;
	size_t n;
};

static int add_line(struct gs_slurm_conf *conf, const char *text, struct gs_error *err)
{
	char **grown;

	if (conf->n == LINES_MAX)
		return gs_fail(err, "more than %d lines", LINES_MAX);
	grown = realloc(conf->line, (conf->n + 1) * sizeof(*grown));
	if (!grown)
		return gs_fail(err, "no memory");
	conf->line = grown;
	conf->line[conf->n] = strdup(text);
	if (!conf->line[conf->n])
		return gs_fail(err, "no memory");
	conf->n++;
	return 0;
}

/* Comment and blanks off, in place. */
static char *trim(char *text)
{
	char *end;

	for (char *c = text; *c; c++)
		if (*c == '#' && (c == text || c[-1] != '\\')) {
			*c = '\0';
			break;
		}
	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static int read_file(struct gs_slurm_conf *conf, const char *path, int depth, struct gs_error *err);

static int take_line(struct gs_slurm_conf *conf, const char *path, char *text, int depth,
		     struct gs_error *err)
{
	char *line = trim(text), *file;
	int rc;

	if (strncasecmp(line, "include", 7) != 0 || !isspace((unsigned char)line[7]))
		return *line ? add_line(conf, line, err) : 0;
	line = trim(line + 7);
	file = *line == '/' ? strdup(line) : gs_beside(path, line);
	rc = file ? read_file(conf, file, depth + 1, err) : gs_fail(err, "no memory");
	free(file);
	return rc;
}

static int read_file(struct gs_slurm_conf *conf, const char *path, int depth, struct gs_error *err)
{
	char *text = NULL, *joined = NULL;
	size_t size = 0;
	FILE *file;
	int rc = 0;

	if (depth > INCLUDES_MAX)
		return gs_fail(err, "%.120s: files include each other", path);
	file = fopen(path, "re");
	if (!file)
		return gs_fail_errno(err, "%.160s", path);
	while (rc == 0 && getline(&text, &size, file) >= 0) {
		size_t length = strcspn(text, "\r\n");
		char *more;

		text[length] = '\0';
		/* A backslash at its end joins a line to the next. */
		if (asprintf(&more, "%s%s", joined ? joined : "", text) < 0) {
			rc = gs_fail(err, "no memory");
			break;
		}
		free(joined);
		joined = more;
		length = strlen(joined);
		if (length && joined[length - 1] == '\\') {
			joined[length - 1] = '\0';
			continue;
		}
		rc = take_line(conf, path, joined, depth, err);
		free(joined);
		joined = NULL;
	}
	if (rc == 0 && joined)
		rc = take_line(conf, path, joined, depth, err);
	free(joined);
	free(text);
	fclose(file);
	return rc;
}

struct gs_slurm_conf *gs_slurm_conf_load(const char *path, struct gs_error *err)
{
	struct gs_slurm_conf *conf = calloc(1, sizeof(*conf));

	if (!conf) {
		gs_fail(err, "no memory");
		return NULL;
	}
	if (read_file(conf, path, 0, err) < 0) {
		gs_slurm_conf_free(conf);
		return NULL;
	}
	return conf;
}

void gs_slurm_conf_free(struct gs_slurm_conf *conf)
{
	if (!conf)
		return;
	for (size_t i = 0; i < conf->n; i++)
		free(conf->line[i]);
	free(conf->line);
	free(conf);
}

const char *gs_slurm_conf_line(const struct gs_slurm_conf *conf, size_t n)
{
	return n < conf->n ? conf->line[n] : NULL;
}

char *gs_slurm_line_value(const char *line, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = line; *at;) {
		size_t word = strcspn(at, " \t");

		if (word > length && at[length] == '=' && strncasecmp(at, key, length) == 0)
			return strndup(at + length + 1, word - length - 1);
		at += word;
		at += strspn(at, " \t");
	}
	return NULL;
}

char *gs_slurm_conf_value(const struct gs_slurm_conf *conf, const char *key)
{
	size_t length = strlen(key);

	for (size_t i = 0; i < conf->n; i++) {
		const char *line = conf->line[i];

		if (strncasecmp(line, key, length) != 0)
			continue;
		line += length;
		line += strspn(line, " \t");
		if (*line == '=')
			return strdup(line + 1 + strspn(line + 1, " \t"));
	}
	return NULL;
}

int gs_word_in_list(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == length && strncasecmp(list, word, n) == 0)
			return 1;
		list += n + (list[n] == ',');
	}
	return 0;
}

char *gs_beside(const char *slurm_conf, const char *name)
{
	const char *slash = strrchr(slurm_conf, '/');
	char *path;

	if (asprintf(&path, "%.*s%s", slash ? (int)(slash - slurm_conf + 1) : 0, slurm_conf, name) <
	    0)
		return NULL;
	return path;
}

/* Unlike plugins, partitions differ by case. */
static int is_in(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; list && *list; list += strspn(list, ",")) {
		size_t n = strcspn(list, ",");

		if (n == length && strncmp(list, name, n) == 0)
			return 1;
		list += n;
	}
	return 0;
}

int gs_slurm_conf_has_partition(const struct gs_slurm_conf *conf, const char *name)
{
	const char *line;
	int found = 0;

	for (size_t i = 0; !found && (line = gs_slurm_conf_line(conf, i)); i++) {
		char *names = gs_slurm_line_value(line, "PartitionName");

		found = strncasecmp(line, "PartitionName=", 14) == 0 && is_in(names, name);
		free(names);
	}
	return found;
}

const char *gs_slurm_conf_path(const char *given)
{
	static const char *const places[] = {
		"/etc/slurm/slurm.conf",
		"/run/slurm/conf/slurm.conf",
		"/etc/slurm-llnl/slurm.conf",
		"/usr/local/etc/slurm.conf",
	};
	const char *env = getenv("SLURM_CONF");

	if (given && *given)
		return given;
	if (env && *env)
		return env;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return places[0];
}
