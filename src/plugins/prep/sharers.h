/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeping whole-GPU jobs off GPUs that still have sharers. */
#ifndef GPUSHARE_PLUGINS_PREP_SHARERS_H
#define GPUSHARE_PLUGINS_PREP_SHARERS_H

#define GS_IN_SLURMCTLD
#include "plugins/gs_slurm_compat.h"

/*
 * Mark the GPUs of every job that has shares, other than `ended`, as taken again:
 * on the nodes of `ended`, or on all nodes where that is NULL.  Under slurmctld's
 * locks: nodes for writing, jobs for reading.  Does nothing where Slurm is right
 * by itself.
 */
void gs_sharers_label(const job_record_t *ended);

#endif
