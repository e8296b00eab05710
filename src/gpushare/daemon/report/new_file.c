/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replacing files as a whole; see new_file.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_new(const char *path, const char *text, struct gs_error *err)
{
	size_t left = strlen(text);
	int fd;

	/* Where others may write to the folder, the name could be a link to somebody else's file.
	 */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return gs_fail_errno(err, "cannot write %s", path);
	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		text += n;
		left -= (size_t)n;
	}
	if (close(fd) < 0 || left) {
		gs_fail_errno(err, "cannot write %s", path);
		unlink(path);
		return -1;
	}
	return 0;
}

int gs_new_file(const char *path, const char *text, struct gs_error *err)
{
	char fresh[512];

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return gs_fail(err, "%.60s...: the path is too long", path);
	if (write_new(fresh, text, err) < 0)
		return -1;
	if (rename(fresh, path) < 0)
		return gs_fail_errno(err, "cannot write %s", path);
	return 0;
}
