/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a whole file; see read_file.h. */
#define _GNU_SOURCE
#include "common/read_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_longer(FILE *file, size_t most)
{
	struct stat st;

	return fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > most;
}

static int fail_longer(const char *name, size_t most, struct gs_error *err)
{
	if (most >> 30)
		return gs_fail(err, "%.120s: larger than %zu GiB", name, most >> 30);
	return gs_fail(err, "%.120s: larger than %zu bytes", name, most);
}

/* Into the other stream, which grows in memory. */
static int copy(FILE *to, FILE *from, const char *name, size_t most, struct gs_error *err)
{
	char part[16384];
	size_t n, left = most;

	if (is_longer(from, most))
		return fail_longer(name, most, err);
	while ((n = fread(part, 1, sizeof(part), from)) > 0) {
		if (n > left)
			return fail_longer(name, most, err);
		left -= n;
		if (fwrite(part, 1, n, to) != n)
			return gs_fail(err, "%.120s: too large for the memory here", name);
	}
	return ferror(from) ? gs_fail_errno(err, "%.120s: cannot read", name) : 0;
}

char *gs_read_stream(FILE *from, const char *name, size_t most, size_t *len, struct gs_error *err)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, len);
	int rc;

	if (!to) {
		gs_fail(err, "no memory");
		return NULL;
	}
	rc = copy(to, from, name, most, err);
	if (fclose(to) != 0 && rc == 0)
		rc = gs_fail(err, "%.120s: too large for the memory here", name);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

char *gs_read_file(const char *path, size_t most, size_t *len, struct gs_error *err)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file) {
		gs_fail_errno(err, "%.120s: cannot open", path);
		return NULL;
	}
	text = gs_read_stream(file, path, most, len, err);
	fclose(file);
	return text;
}

char *gs_read_input(const char *path, size_t most, size_t *len, struct gs_error *err)
{
	return strcmp(path, "-") == 0 ? gs_read_stream(stdin, "standard input", most, len, err) :
					gs_read_file(path, most, len, err);
}
