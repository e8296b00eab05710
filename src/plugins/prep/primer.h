/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling slurmctld what gres/gpushare is before it reads nodes and jobs. */
#ifndef GPUSHARE_PLUGINS_PREP_PRIMER_H
#define GPUSHARE_PLUGINS_PREP_PRIMER_H

/*
 * To be called in slurmctld before it recovers its state.  Does nothing where
 * GresTypes has no gpu: shares are then counted per node.  SLURM_SUCCESS, or
 * SLURM_ERROR with the reason in the log.
 */
int gs_primer(void);

#endif
