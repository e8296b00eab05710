/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the test data; see fatbin_data.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fatbin_data.h"

struct gs_bytes fatbin_file(const char *name)
{
	struct gs_bytes b = { NULL, 0 };
	char path[1024];
	struct stat st;
	uint8_t *data;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", FATBIN_DATA, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		fail_msg("%s cannot be read", path);
	data = malloc((size_t)st.st_size);
	assert_non_null(data);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	b.data = data;
	b.len = (size_t)st.st_size;
	return b;
}

void fatbin_drop(struct gs_bytes b)
{
	free((void *)(uintptr_t)b.data);
}

struct gs_fatbin fatbin_opened(struct gs_bytes b)
{
	struct gs_error err;
	struct gs_fatbin fb;

	if (gs_fatbin_open(b.data, b.len, &fb, &err) < 0)
		fail_msg("%s", err.text);
	return fb;
}

struct gs_fatbin_entry fatbin_entry(const struct gs_fatbin *fb, enum gs_entry_kind kind)
{
	struct gs_fatbin_entry e;
	struct gs_error err;
	size_t at = 0;
	int rc;

	while ((rc = gs_fatbin_next(fb, &at, &e, &err)) > 0)
		if (e.kind == kind)
			return e;
	fail_msg("no %s: %s", gs_entry_kind_name(kind), rc < 0 ? err.text : "not there");
	return e;
}
