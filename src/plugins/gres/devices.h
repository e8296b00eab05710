/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPUs' device files, for the cgroups that let a job at its own only. */
#ifndef GPUSHARE_PLUGINS_GRES_DEVICES_H
#define GPUSHARE_PLUGINS_GRES_DEVICES_H

#include "plugins/gs_slurm_compat.h"

/* In slurmd: those of our records, in order. */
void gs_devices_load(gs_list conf_list);

/* From slurmd to slurmstepd. */
void gs_devices_send(buf_t *buffer);
void gs_devices_receive(buf_t *buffer);

/* The list of gres_device_t; NULL: there are none. */
gs_list gs_devices(void);

#endif
