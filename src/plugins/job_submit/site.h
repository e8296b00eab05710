/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site as slurmctld knows it: gpushare.conf beside slurm.conf, partitions and their nodes. */
#ifndef GPUSHARE_PLUGINS_JOB_SUBMIT_SITE_H
#define GPUSHARE_PLUGINS_JOB_SUBMIT_SITE_H

#include "plugins/job_submit/request.h"

/*
 * gpushare.conf as it is now; read again when the file has changed.  Valid until
 * the next call; to be called under slurmctld's lock of its job_submit plugins.
 * Without a file, 0 and NULL.  -1 with the reason: it cannot be read; once it
 * could, the last good one stays in force and slurmctld's log has the reason.
 */
int gs_site_config(const struct gs_config **config, struct gs_error *err);

/* Release what gs_site_config keeps. */
void gs_site_fini(void);

/*
 * The partitions (a list with commas; NULL: the default one), their limits and
 * the kinds of GPU of their nodes.  Partitions that Slurm does not know are left
 * to Slurm.  The site points into config and partitions.
 */
void gs_site_describe(const struct gs_config *config, char *partitions, struct gs_site *site);

/*
 * The nodes of the partitions whose GPUs are too small, as a host list to be
 * released with xfree(); NULL: there are none.
 */
char *gs_site_too_small(const struct gs_config *config, const struct gs_site *site);

#endif
