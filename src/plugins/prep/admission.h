/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeping slurmctld from using GPUs that it knows by their number only. */
#ifndef GPUSHARE_PLUGINS_PREP_ADMISSION_H
#define GPUSHARE_PLUGINS_PREP_ADMISSION_H

/*
 * In slurmctld, before it recovers its state: a thread that waits for that,
 * and then holds every node with gpushare back until its slurmd has
 * registered.  SLURM_SUCCESS, or SLURM_ERROR with the reason in the log.
 */
int gs_admission_start(void);

#endif
