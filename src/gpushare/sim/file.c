/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a file of unknown length; see file.h. */
#define _GNU_SOURCE
#include "gpushare/sim/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX_BYTES (UINT64_C(1) << 30)

char *sim_read_file(const char *path, size_t *len, struct gs_error *err)
{
	int standard = strcmp(path, "-") == 0, done = 0;
	FILE *file = standard ? stdin : fopen(path, "re");
	size_t room = 1 << 16;
	char *text = NULL, *grown;
	struct stat st;

	*len = 0;
	if (!file) {
		gs_fail_errno(err, "%.120s: cannot open", path);
		return NULL;
	}
	/* Known before all of it is read. */
	if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size > FILE_MAX_BYTES)
		room = 2 * FILE_MAX_BYTES;
	while (!done) {
		if (room > FILE_MAX_BYTES) {
			gs_fail(err, "%.120s: larger than 1 GiB", path);
			break;
		}
		grown = realloc(text, room);
		if (!grown) {
			gs_fail(err, "%.120s: too large for the memory here", path);
			break;
		}
		text = grown;
		*len += fread(text + *len, 1, room - *len, file);
		if (ferror(file)) {
			gs_fail_errno(err, "%.120s: cannot read", path);
			break;
		}
		done = *len < room;
		room *= 2;
	}
	if (!standard)
		fclose(file);
	if (done)
		return text;
	free(text);
	return NULL;
}
