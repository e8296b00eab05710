/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GPUSHARE_COMMON_READ_FILE_H
#define GPUSHARE_COMMON_READ_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

/*
 * The whole of a file, of any kind, as text: *len bytes and a NUL behind them, which the caller
 * frees. `most`: the longest that is accepted, bytes; a regular file that is longer is refused
 * before any of it is read. Returns NULL with the reason, which begins with the path, if it cannot
 * be opened or read, is longer, or there is no memory.
 */
char *gs_read_file(const char *path, size_t most, size_t *len, struct gs_error *err);

/* The same for an open file, up to its end; it stays open. `name` is its name in a reason. */
char *gs_read_stream(FILE *from, const char *name, size_t most, size_t *len, struct gs_error *err);

/* Either of them: the path, or standard input for "-". */
char *gs_read_input(const char *path, size_t most, size_t *len, struct gs_error *err);

#endif
