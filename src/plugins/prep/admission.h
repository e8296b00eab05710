/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeping slurmctld from using GPUs that it knows by their number only. */
#ifndef GPUSHARE_PLUGINS_PREP_ADMISSION_H
#define GPUSHARE_PLUGINS_PREP_ADMISSION_H

/*
 * In slurmctld, before it recovers its state: a thread that waits for that.  If
 * the shares are of GPUs in gres/gpu, it then holds every node with gpushare
 * back until its slurmd has registered.  It takes the reports of jobs that are
 * over from the nodes' Extra (ended.h).  SLURM_SUCCESS, or SLURM_ERROR with the
 * reason in the log.
 */
int gs_admission_start(int shares_are_of_gpus);

#endif
