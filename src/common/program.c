/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognising a program; see program.h. */
#define _GNU_SOURCE
#include "common/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"

#define PART 65536

static int open_program(const char *name)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	const char *path = getenv("PATH");
	char file[4096];
	int fd;

	if (strchr(name, '/') || !path)
		return open(name, flags);
	while (*path) {
		size_t n = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name) <
			    (int)sizeof(file) &&
		    access(file, X_OK) == 0 && (fd = open(file, flags)) >= 0)
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

uint64_t gs_program_key(uid_t uid, int argc, char *const argv[])
{
	uint64_t hash = gs_hash(GS_HASH_EMPTY, &uid, sizeof(uid));

	if (argc > 0 && !mix_file(&hash, argv[0]))
		hash = gs_hash(hash, argv[0], strlen(argv[0]) + 1);
	for (int i = 1; i < argc; i++)
		hash = gs_hash(hash, argv[i], strlen(argv[i]) + 1);
	return hash ? hash : 1;
}
