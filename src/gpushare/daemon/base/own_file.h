/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files that one daemon leaves for the next: for its user alone, replaced by renaming. */
#ifndef GPUSHARE_DAEMON_OWN_FILE_H
#define GPUSHARE_DAEMON_OWN_FILE_H

#include <stdio.h>

/* Only a plain file of our own that nobody else can write is believed; NULL: there is none, or the
 * log says why. */
FILE *gs_own_file_open(const char *path);

/* The file that is to take its place (NULL: the log says why), and that it does so unless `bad`. */
FILE *gs_own_file_begin(const char *path);
void gs_own_file_end(FILE *file, const char *path, int bad);

#endif
