/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the kernel's files below a folder in which users may have folders of their own. */
#ifndef GPUSHARE_DAEMON_BELOW_H
#define GPUSHARE_DAEMON_BELOW_H

/* Writes `text` to an existing file below root, and follows no symbolic link. Returns 0; -1 with
 * errno. */
int gs_write_below(const char *root, const char *file, const char *text);

#endif
