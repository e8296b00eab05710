/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cores near a GPU, in Slurm's numbering. */
#ifndef GPUSHARE_PLUGINS_GRES_CORES_H
#define GPUSHARE_PLUGINS_GRES_CORES_H

#include "plugins/gs_slurm_compat.h"

/*
 * "0-15": what gres.conf's Cores= would say of the GPU behind this device
 * file, from hwloc; all cores of the node for one that is no PCI device.  To
 * be freed with xfree.
 */
char *gs_cores_near(const char *file, const node_config_load_t *node);

/* GresTypes in slurm.conf names gpu. */
int gs_gres_types_have_gpu(void);

#endif
