/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our part of a job's AdminComment and of a node's Extra, in what others have
 * written there.  Pure.
 */
#ifndef GPUSHARE_PROTO_COMMENT_H
#define GPUSHARE_PROTO_COMMENT_H

#include <stddef.h>
#include <stdint.h>

#define GS_COMMENT_MAX 1024               /* of our part */
#define GS_EXTRA_MAX (4 * GS_COMMENT_MAX) /* of a node's whole Extra */

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

/*
 * slurmctld takes no AdminComment for a job that is over.  gpushared then adds
 * "gpushare-ended JOB: REPORT" to the node's Extra, where prep/gpushare, in
 * slurmctld, finds it and puts it into the job's AdminComment.
 */

/*
 * Extra with that piece at its end, instead of an earlier one of the same job.
 * `extra` may be NULL.  Where it does not fit, the other jobs' pieces make room:
 * nobody has taken them.  -1 if it does not fit even so.
 */
int gs_comment_add_ended(const char *extra, uint32_t job_id, const char *report, char *out,
			 size_t size);

/*
 * Take the first such piece out of `extra`, which gets shorter: 1 with the job
 * and its report, cut off at `size`; 0: there is none.
 */
int gs_comment_take_ended(char *extra, uint32_t *job_id, char *report, size_t size);

#endif
