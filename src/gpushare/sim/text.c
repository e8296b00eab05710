/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are read more than once; see text.h. */
#define _GNU_SOURCE
#include "gpushare/sim/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpushare/sim/temporary.h"

#define CHUNK 65536
#define COPY_MAX_BYTES (UINT64_C(1) << 30)

/* What cannot be read twice, whole into a file that can; its descriptor. */
static int copy(const char *name, int from, struct gs_error *err)
{
	char buffer[CHUNK];
	uint64_t all = 0;
	int to = sim_temporary(err), rc = 0;
	ssize_t n = 0;

	if (to < 0)
		return -1;
	while (rc == 0 && (n = read(from, buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = gs_fail_errno(err, "%.120s: cannot read", name);
		else if (all + (uint64_t)n > COPY_MAX_BYTES)
			rc = gs_fail(err, "%.120s: larger than 1 GiB", name);
		else
			rc = sim_temporary_write(to, all, buffer, (size_t)n, err);
		all += (uint64_t)n;
	}
	if (rc == 0)
		return to;
	close(to);
	return -1;
}

int sim_text_open(const char *path, struct sim_text *text, struct gs_error *err)
{
	int standard = strcmp(path, "-") == 0, copied;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	off_t base;

	*text = (struct sim_text){ .name = path, .fd = -1 };
	if (fd < 0 || fstat(fd, &st) < 0)
		return gs_fail_errno(err, "%.120s: cannot open", path);
	base = S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	if (base >= 0) {
		text->base = (uint64_t)base;
		text->fd = fd;
		return 0;
	}
	copied = copy(path, fd, err);
	if (!standard)
		close(fd);
	text->fd = copied;
	return copied < 0 ? -1 : 0;
}

struct sim_text sim_text_of(const char *name, const char *bytes, size_t len)
{
	return (struct sim_text){ .name = name, .bytes = bytes, .len = len, .fd = -1 };
}

void sim_text_close(struct sim_text *text)
{
	if (text->fd > STDIN_FILENO)
		close(text->fd);
	text->fd = -1;
}

ssize_t sim_text_read(const struct sim_text *text, uint64_t at, char *buffer, size_t n,
		      struct gs_error *err)
{
	size_t have = 0;

	if (text->bytes) {
		have = at < text->len ? (size_t)(text->len - at) : 0;
		have = have < n ? have : n;
		memcpy(buffer, text->bytes + (have ? at : 0), have);
		return (ssize_t)have;
	}
	while (have < n) {
		ssize_t got = pread(text->fd, buffer + have, n - have,
				    (off_t)(text->base + at + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gs_fail_errno(err, "%.120s: cannot read", text->name);
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

int sim_text_lines(const struct sim_text *text, uint64_t *lines, struct gs_error *err)
{
	char buffer[CHUNK];
	uint64_t at = 0;
	ssize_t n;

	*lines = 1;
	while ((n = sim_text_read(text, at, buffer, sizeof(buffer), err)) > 0) {
		const char *from = buffer, *end = buffer + n;

		while ((from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
			++*lines;
			if (++from == end)
				break;
		}
		at += (uint64_t)n;
	}
	return n < 0 ? -1 : 0;
}
