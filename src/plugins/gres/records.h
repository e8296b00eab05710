/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's gres records as slurmd reports them to slurmctld: one per GPU. */
#ifndef GPUSHARE_PLUGINS_GRES_RECORDS_H
#define GPUSHARE_PLUGINS_GRES_RECORDS_H

#include "plugins/gs_slurm_compat.h"

#define GS_GRES_NAME "gpushare"

/*
 * Rewrite the list: each of gres/gpu's devices gets a record of its own, with
 * cores, and behind it a shared one of gres/gpushare with that GPU's part of
 * the node's shares.  A node without gres/gpu keeps its records: its shares
 * are counted as those of one GPU.  SLURM_ERROR, with the reason in the log
 * and no record of gres/gpushare left, when the shares cannot be divided:
 * slurmctld then takes the node out of service.
 */
int gs_records_divide(gs_list conf_list, const node_config_load_t *node);

#endif
