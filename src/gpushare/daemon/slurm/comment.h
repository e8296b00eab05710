/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our part of a job's AdminComment, in what others have written there.  Pure. */
#ifndef GPUSHARE_DAEMON_COMMENT_H
#define GPUSHARE_DAEMON_COMMENT_H

#include <stddef.h>

#define GS_COMMENT_MAX 1024 /* of the whole field */

/*
 * AdminComment with our part exchanged: what `old` holds from "gpushare: " to
 * the next ';' or its end is replaced by `ours`, everything else is kept; a
 * field without our part gets it behind "; ".  -1 if it does not fit.
 */
int gs_comment_merge(const char *old, const char *ours, char *out, size_t size);

/*
 * The same for a job of several nodes, each of which has a daemon that writes:
 * our part is "gpushare: n1: ... | n2: ...", and only that node's is exchanged.
 */
int gs_comment_merge_node(const char *old, const char *node, const char *ours, char *out,
			  size_t size);

#endif
