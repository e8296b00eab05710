/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A text that can be read from any place and more than once, so that nobody
 * need keep it: a file, or a copy in a temporary file of what cannot be read
 * again (a pipe).
 */
#ifndef GPUSHARE_SIM_TEXT_H
#define GPUSHARE_SIM_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

struct sim_text {
	const char *name;  /* for messages; borrowed */
	const char *bytes; /* in memory, borrowed; NULL: in the file */
	uint64_t len;      /* of bytes */
	int fd;
	uint64_t base;     /* where it begins in the file */
};

/* A file, - is standard input; of what is no regular file at most 1 GiB.  -1 with the reason. */
int sim_text_open(const char *path, struct sim_text *text, struct gs_error *err);

/* len bytes as if they were the file `name`; both outlive the text. */
struct sim_text sim_text_of(const char *name, const char *bytes, size_t len);

void sim_text_close(struct sim_text *text);

/* Fill buffer from offset `at` on: how many bytes, fewer than n at the end only; -1 with the reason. */
ssize_t sim_text_read(const struct sim_text *text, uint64_t at, char *buffer, size_t n,
		      struct gs_error *err);

/* At least as many as lines that are there. */
int sim_text_lines(const struct sim_text *text, uint64_t *lines, struct gs_error *err);

#endif
