/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache's directory and files; see cache_dir.h. */
#define _GNU_SOURCE
#include "device/shim/variant/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file_size.h"
#include "common/units.h"

#define MAX_DEFAULT ((uint64_t)256 << 20)
#define ENTRY_SUFFIX ".module"
#define PART_SUFFIX ".part"
/* A part that is older than this was left by a killed process. */
#define PART_OLD_S 600
#define FILE_MAX ((off_t)1 << 30)

uint64_t shim_cache_max(void)
{
	const char *text = secure_getenv("GPUSHARE_CACHE_MAX");
	uint64_t max;

	if (text && strcmp(text, "0") == 0)
		return 0;
	if (!text || !*text || gs_parse_size(text, &max, NULL) < 0)
		return MAX_DEFAULT;
	return max;
}

/* The directory's path; NULL: there is none. */
static const char *path_of(char *path, size_t size)
{
	const char *own = secure_getenv("GPUSHARE_CACHE"), *base = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	int n = -1;

	if (own)
		n = snprintf(path, size, "%s", own);
	else if (base && *base == '/')
		n = snprintf(path, size, "%s/gpushare", base);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.cache/gpushare", home);
	return n > 0 && (size_t)n < size && *path == '/' ? path : NULL;
}

/* Makes the directory, and its parent if needed. */
static void make(char *path)
{
	char *slash = strrchr(path, '/');

	if (mkdir(path, 0700) == 0 || errno != ENOENT || slash == path)
		return;
	*slash = '\0';
	mkdir(path, 0700);
	*slash = '/';
	mkdir(path, 0700);
}

int shim_cache_open(void)
{
	char path[PATH_MAX];
	struct stat st;
	int dir;

	if (!path_of(path, sizeof(path)))
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT) {
		make(path);
		dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (dir < 0)
		return -1;
	/* Another user's files there would run as this user's kernels. */
	if (fstat(dir, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return dir;
	close(dir);
	return -1;
}

static int is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

unsigned char *shim_cache_read(int dir, const char *name, size_t *len)
{
	static const struct timespec now[2] = { { .tv_nsec = UTIME_NOW },
						{ .tv_nsec = UTIME_NOW } };
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	unsigned char *data = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL;
	*len = 0;
	if (fstat(fd, &st) == 0 && is_ours(&st) && st.st_size > 0 && st.st_size <= FILE_MAX)
		data = malloc((size_t)st.st_size);
	while (data && *len < (size_t)st.st_size) {
		n = read(fd, data + *len, (size_t)st.st_size - *len);
		if (n > 0)
			*len += (size_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	if (data)
		futimens(fd, now);
	close(fd);
	return data;
}

static int write_all(int fd, const unsigned char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int shim_cache_write(int dir, const char *name, const void *data, size_t len)
{
	static _Atomic unsigned int number;
	char part[128];
	int fd, rc;

	if (!gs_file_may_have(len))
		return -1;
	/* The name is unique to this process and this call. O_EXCL keeps a file of the same name
	 * that an earlier boot left from being reused. */
	snprintf(part, sizeof(part), "%s.%d.%u" PART_SUFFIX, name, (int)getpid(), number++);
	fd = openat(dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	rc = write_all(fd, data, len);
	if (close(fd) < 0)
		rc = -1;
	if (rc == 0)
		rc = renameat(dir, part, dir, name);
	if (rc < 0)
		unlinkat(dir, part, 0);
	return rc;
}

struct entry {
	char name[NAME_MAX + 1];
	struct timespec used;
	uint64_t size;
};

static int older(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used,
			      *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static int ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0;
}

/* Lists the cache's files, and removes abandoned parts. */
static size_t list(DIR *d, int dir, struct entry **out)
{
	time_t now = time(NULL);
	size_t n = 0, room = 0;
	struct dirent *e;
	struct stat st;

	*out = NULL;
	while ((e = readdir(d))) {
		int part = ends_in(e->d_name, PART_SUFFIX);

		if ((!part && !ends_in(e->d_name, ENTRY_SUFFIX)) ||
		    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_ours(&st))
			continue;
		if (part) {
			if (now - st.st_mtime > PART_OLD_S)
				unlinkat(dir, e->d_name, 0);
			continue;
		}
		if (n == room) {
			struct entry *grown =
				realloc(*out, (room = 2 * room + 64) * sizeof(*grown));

			if (!grown)
				break;
			*out = grown;
		}
		snprintf((*out)[n].name, sizeof((*out)[n].name), "%s", e->d_name);
		(*out)[n].used = st.st_mtim;
		(*out)[n++].size = (uint64_t)st.st_size;
	}
	return n;
}

void shim_cache_trim(int dir, uint64_t max)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct entry *entry;
	uint64_t sum = 0;
	size_t n;

	if (!d) {
		if (again >= 0)
			close(again);
		return;
	}
	n = list(d, dir, &entry);
	for (size_t i = 0; i < n; i++)
		sum += entry[i].size;
	if (sum > max)
		qsort(entry, n, sizeof(*entry), older);
	for (size_t i = 0; i < n && sum > max; i++) {
		unlinkat(dir, entry[i].name, 0);
		sum -= entry[i].size;
	}
	free(entry);
	closedir(d);
}
