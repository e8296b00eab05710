/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files that a daemon leaves for the next one, readable by its user only and replaced by
 * renaming. */
#ifndef GPUSHARE_DAEMON_OWN_FILE_H
#define GPUSHARE_DAEMON_OWN_FILE_H

#include <stdio.h>

/* Opens the file if it is a regular file of the daemon's user that nobody else can write. The
 * caller closes it. NULL: there is none, or the log says why it was not read. */
FILE *gs_own_file_open(const char *path);

/* Opens a new file to replace `path` (NULL: the log says why); gs_own_file_end() closes it and puts
 * it in place, unless `bad`. Returns 0; -1: the old file is there still, and the log says why. The
 * log has the same reason once a minute at most. Call with the loop's lock held (event.h). */
FILE *gs_own_file_begin(const char *path);
int gs_own_file_end(FILE *file, const char *path, int bad);

#endif
