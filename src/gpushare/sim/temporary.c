/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that nobody else can open and that go with the process; see temporary.h. */
#define _GNU_SOURCE
#include "gpushare/sim/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static int make_in(const char *folder, struct gs_error *err)
{
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/gpushare-sim.XXXXXX", folder) >= sizeof(path))
		return gs_fail(err, "TMPDIR is too long");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return gs_fail_errno(err, "cannot make a temporary file in %.120s (set TMPDIR)",
				     folder);
	unlink(path);
	return fd;
}

int sim_temporary(struct gs_error *err)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	if (folder && *folder)
		return make_in(folder, err);
	fd = make_in("/var/tmp", err);
	return fd < 0 ? make_in("/tmp", err) : fd;
}

int sim_temporary_write(int fd, uint64_t at, const void *bytes, size_t n, struct gs_error *err)
{
	const char *from = bytes;

	while (n > 0) {
		ssize_t put = pwrite(fd, from, n, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return gs_fail_errno(err, "cannot write a temporary file");
		from += put;
		at += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}
