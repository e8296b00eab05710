/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a file or standard input whole. */
#define _GNU_SOURCE
#include "device/ptx/tool/tool.h"

#include <stdlib.h>
#include <string.h>

/* Much more PTX than any module has, well below what would exhaust a host. */
#define INPUT_MAX ((size_t)1 << 30)

static char *read_all(FILE *from, const char *name, size_t *len, struct gs_error *err)
{
	size_t cap = 1 << 16, n = 0;
	char *text = malloc(cap);

	while (text) {
		size_t got = fread(text + n, 1, cap - n, from);
		char *grown;

		n += got;
		if (n < cap)
			break;
		if (cap >= INPUT_MAX) {
			gs_fail(err, "%s: more than 1 GiB", name);
			free(text);
			return NULL;
		}
		cap *= 2;
		grown = realloc(text, cap);
		if (!grown)
			free(text);
		text = grown;
	}
	if (!text) {
		gs_fail(err, "%s: no memory", name);
	} else if (ferror(from)) {
		gs_fail_errno(err, "%s: cannot be read", name);
		free(text);
		text = NULL;
	}
	*len = n;
	return text;
}

char *tool_read(const char *path, size_t *len, struct gs_error *err)
{
	FILE *from;
	char *text;

	if (strcmp(path, "-") == 0)
		return read_all(stdin, "standard input", len, err);
	from = fopen(path, "re");
	if (!from) {
		gs_fail_errno(err, "%s", path);
		return NULL;
	}
	text = read_all(from, path, len, err);
	fclose(from);
	return text;
}
