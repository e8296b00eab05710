/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into slurmctld, it makes the file system of the state files slow, as one over a network
 * may be: each open, fsync, link, unlink and rename of a file below $SLOW_STATE takes as many
 * milliseconds more as the file $SLOW_MS_FILE says; none while there is no such file.  And each
 * usleep() takes as many more as the file $SLEEP_MS_FILE says, as if the machine were busy.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name)

/* By a system call: open() is ours here. */
static long milliseconds(const char *variable)
{
	const char *path = getenv(variable);
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
	char text[16] = "";

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtol(text, NULL, 10);
}

static void pause_for(const char *variable)
{
	int was = errno;
	long ms = milliseconds(variable);
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
	errno = was;
}

static void slow(const char *path)
{
	const char *folder = getenv("SLOW_STATE");

	if (folder && strncmp(path, folder, strlen(folder)) == 0)
		pause_for("SLOW_MS_FILE");
}

/* open() has a third argument where it may make a file. */
#define OPEN(name) \
	EXPORT int name(const char *path, int flags, ...) \
	{ \
		REAL(name); \
		mode_t mode = 0; \
		va_list ap; \
\
		va_start(ap, flags); \
		if (flags & (O_CREAT | O_TMPFILE)) \
			mode = va_arg(ap, mode_t); \
		va_end(ap); \
		slow(path); \
		return real(path, flags, mode); \
	}
OPEN(open)
OPEN(open64)

EXPORT int fsync(int fd)
{
	REAL(fsync);
	char link[32], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	slow(path);
	return real(fd);
}

EXPORT int unlink(const char *path)
{
	REAL(unlink);

	slow(path);
	return real(path);
}

EXPORT int link(const char *from, const char *to)
{
	REAL(link);

	slow(to);
	return real(from, to);
}

EXPORT int rename(const char *from, const char *to)
{
	REAL(rename);

	slow(to);
	return real(from, to);
}

EXPORT int usleep(useconds_t us)
{
	REAL(usleep);

	pause_for("SLEEP_MS_FILE");
	return real(us);
}
