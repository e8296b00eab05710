/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes files below a folder; see below.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_below(const char *root, const char *file)
{
	struct open_how how = { .flags = O_WRONLY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, saved;

	if (at < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, at, file + strspn(file, "/"), &how, sizeof(how));
	saved = errno;
	close(at);
	errno = saved;
	return fd;
}

int gs_write_below(const char *root, const char *file, const char *text)
{
	int fd = open_below(root, file), saved;
	ssize_t did;

	if (fd < 0)
		return -1;
	did = write(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return did == (ssize_t)strlen(text) ? 0 : -1;
}
