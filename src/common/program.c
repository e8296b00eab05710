/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognising a program; see program.h. */
#define _GNU_SOURCE
#include "common/program.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/hash.h"

#define PART 65536
/* How long a file system may take to show the file. */
#define AS_USER_MS 1000

/* To open a device is to use it: a watchdog starts, a tape is rewound.  So it is looked at first.
 */
static int open_regular(const char *name)
{
	int at = open(name, O_PATH | O_CLOEXEC), fd = -1;
	char path[64];
	struct stat st;

	if (at < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", at);
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(at);
	return fd;
}

static int open_program(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];
	int fd;

	if (strchr(name, '/') || !path)
		return open_regular(name);
	while (*path) {
		size_t n = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name) <
			    (int)sizeof(file) &&
		    access(file, X_OK) == 0 && (fd = open_regular(file)) >= 0)
			return fd;
		path += n + (path[n] == ':');
	}
	return -1;
}

/* 0 if the file cannot be read. */
static int mix_file(uint64_t *hash, const char *name)
{
	int fd = open_program(name), rc = 0;
	char *part = malloc(PART);
	struct stat st;
	ssize_t n;

	if (fd >= 0 && part && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*hash = gs_hash(*hash, &st.st_size, sizeof(st.st_size));
		n = pread(fd, part, PART, 0);
		rc = n > 0;
		*hash = gs_hash(*hash, part, n > 0 ? (size_t)n : 0);
		n = st.st_size > PART ? pread(fd, part, PART, st.st_size - PART) : 0;
		*hash = gs_hash(*hash, part, n > 0 ? (size_t)n : 0);
	}
	free(part);
	if (fd >= 0)
		close(fd);
	return rc;
}

static uint64_t key_of(uid_t uid, int argc, char *const argv[], int readable)
{
	uint64_t hash = gs_hash(GS_HASH_EMPTY, &uid, sizeof(uid));

	if (argc > 0 && !(readable && mix_file(&hash, argv[0])))
		hash = gs_hash(hash, argv[0], strlen(argv[0]) + 1);
	for (int i = 1; i < argc; i++)
		hash = gs_hash(hash, argv[i], strlen(argv[i]) + 1);
	return hash ? hash : 1;
}

uint64_t gs_program_key(uid_t uid, int argc, char *const argv[])
{
	return key_of(uid, argc, argv, 1);
}

uint64_t gs_program_key_said(uid_t uid, uint64_t key)
{
	uint32_t half = (uint32_t)(key ^ key >> 32);

	return key ? (uint64_t)uid << 32 | (half ? half : 1) : 0;
}

/* In a child, for good. */
static void tell_key(const struct gs_program_user *user, int argc, char *const argv[], int to)
{
	uint64_t key;

	if (setgroups(user->ngroups, user->groups) < 0 || setgid(user->gid) < 0 ||
	    setuid(user->uid) < 0)
		_exit(1);
	key = key_of(user->uid, argc, argv, 1);
	_exit(write(to, &key, sizeof(key)) == (ssize_t)sizeof(key) ? 0 : 1);
}

uint64_t gs_program_key_as(const struct gs_program_user *user, int argc, char *const argv[])
{
	struct pollfd p = { .events = POLLIN };
	uint64_t key = 0;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return key_of(user->uid, argc, argv, 0);
	pid = fork();
	if (pid == 0)
		tell_key(user, argc, argv, ends[1]);
	close(ends[1]);
	p.fd = ends[0];
	if (pid < 0 || poll(&p, 1, AS_USER_MS) != 1 ||
	    read(ends[0], &key, sizeof(key)) != (ssize_t)sizeof(key))
		key = 0;
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		/* What a file system that is away holds up is left behind. */
		for (int i = 0; i < AS_USER_MS && waitpid(pid, NULL, WNOHANG) == 0; i++)
			usleep(1000);
	}
	return key ? key : key_of(user->uid, argc, argv, 0);
}
