/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a daemon leaves for the next one; see own_file.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

#define PATH_ROOM 512
#define SAY_AGAIN_NS (60 * GS_NS_PER_S)

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

/* The last reason in the log, unless a file was written since, and when it was logged. */
static char said[PATH_ROOM + 128];
static uint64_t said_ns;

/* errno says why. Who cannot do without the file tries again some ten times a second, and the same
 * reason each time would fill the log, which may be on the same full disk. */
static void cannot_write(const char *path)
{
	uint64_t now = gs_clock_ns();
	char text[sizeof(said)];

	snprintf(text, sizeof(text), "cannot write %s: %s", path, strerror(errno));
	if (strcmp(text, said) == 0 && now - said_ns < SAY_AGAIN_NS)
		return;
	memcpy(said, text, sizeof(said));
	said_ns = now;
	gs_log(GS_LOG_ERROR, "%s", text);
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
	cannot_write(fresh);
	if (fd >= 0)
		close(fd);
	return NULL;
}

int gs_own_file_end(FILE *f, const char *path, int bad)
{
	char fresh[PATH_ROOM];

	fresh_path(path, fresh);
	bad |= fclose(f) != 0;
	if (!bad && rename(fresh, path) == 0) {
		said[0] = '\0';
		return 0;
	}
	cannot_write(path);
	unlink(fresh);
	return -1;
}
