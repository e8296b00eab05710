/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a daemon leaves for the next one; see own_file.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

#define PATH_ROOM 512

FILE *gs_own_file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		if (errno != ENOENT)
			gs_log(GS_LOG_WARN, "%s: %s: ignored", path, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022)) {
		gs_log(GS_LOG_WARN, "%s: not a file of this daemon: ignored", path);
		close(fd);
		return NULL;
	}
	return fdopen(fd, "r");
}

static const char *fresh_path(const char *path, char *fresh)
{
	snprintf(fresh, PATH_ROOM, "%s.new", path);
	return fresh;
}

FILE *gs_own_file_begin(const char *path)
{
	char fresh[PATH_ROOM];
	FILE *f;
	int fd;

	unlink(fresh_path(path, fresh));
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (f)
		return f;
	gs_log(GS_LOG_ERROR, "cannot write %s: %s", fresh, strerror(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

int gs_own_file_end(FILE *f, const char *path, int bad)
{
	char fresh[PATH_ROOM];

	fresh_path(path, fresh);
	bad |= fclose(f) != 0;
	if (!bad && rename(fresh, path) == 0)
		return 0;
	gs_log(GS_LOG_ERROR, "cannot write %s: %s", path, strerror(errno));
	unlink(fresh);
	return -1;
}
