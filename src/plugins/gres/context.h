/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What slurmstepd is told of gres/gpushare by Slurm itself. */
#ifndef GPUSHARE_PLUGINS_GRES_CONTEXT_H
#define GPUSHARE_PLUGINS_GRES_CONTEXT_H

#include "plugins/gs_slurm_compat.h"

/*
 * Say in what slurmd has packed for slurmstepd that our shares are shared.
 *
 * Slurm tells gres/mps and gres/shard by their names.  slurmctld believes the
 * records (records.c), but slurmd tells slurmstepd what it made of the name
 * alone.  slurmstepd then takes 100 shares for 100 devices and complains in
 * each task that Slurm binds GPUs to (--tres-per-task, --tres-bind).  To be
 * called when this plugin's turn to add to that buffer has come: the last
 * that is in it is about this plugin.  Where it has another form, nothing is
 * changed.  1: it was said.
 */
int gs_context_share(buf_t *buffer);

#endif
