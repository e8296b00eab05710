/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that others read at any time. */
#ifndef GPUSHARE_DAEMON_NEW_FILE_H
#define GPUSHARE_DAEMON_NEW_FILE_H

#include "common/error.h"

/*
 * The file has this text now, and whoever reads it sees all of the old or all of the new: a file of
 * its name with ".new" behind it takes its place.  0, or -1 with the reason.
 */
int gs_new_file(const char *path, const char *text, struct gs_error *err);

#endif
