/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a file of unknown length; see file.h. */
#define _GNU_SOURCE
#include "gpushare/sim/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES (UINT64_C(1) << 30)

char *sim_read_file(const char *path, size_t *len, struct gs_error *err)
{
	int standard = strcmp(path, "-") == 0, done = 0;
	FILE *file = standard ? stdin : fopen(path, "re");
	size_t room = 1 << 16;
	char *text = NULL, *grown;

	*len = 0;
	if (!file) {
		gs_fail_errno(err, "%.120s: cannot open", path);
		return NULL;
	}
	while (!done) {
		grown = realloc(text, room);
		if (!grown) {
			gs_fail(err, "no memory");
			break;
		}
		text = grown;
		*len += fread(text + *len, 1, room - *len, file);
		if (ferror(file)) {
			gs_fail_errno(err, "%.120s: cannot read", path);
			break;
		}
		done = *len < room;
		if (!done && room >= FILE_MAX_BYTES) {
			gs_fail(err, "%.120s: larger than 1 GiB", path);
			break;
		}
		room *= 2;
	}
	if (!standard)
		fclose(file);
	if (done)
		return text;
	free(text);
	return NULL;
}
