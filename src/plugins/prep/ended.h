/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last reports of jobs that were over before their steps were, for slurmctld. */
#ifndef GPUSHARE_PLUGINS_PREP_ENDED_H
#define GPUSHARE_PLUGINS_PREP_ENDED_H

/*
 * Takes them out of the nodes' Extra, where gpushared puts them (proto/comment.h),
 * and into the jobs' AdminComment, also of the accounting database.  Under
 * slurmctld's write locks of jobs and nodes.
 */
void gs_ended_take(void);

#endif
