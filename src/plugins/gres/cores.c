/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a device file to its PCI device, its cores, and Slurm's numbers for them; see cores.h. */
#define _GNU_SOURCE
#include "plugins/gres/cores.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/nvidia.h"

/* slurmd's own configuration; not there in slurmctld. */
extern slurmd_conf_t *conf __attribute__((weak));

/* The kernel's numbers of the CPUs near that PCI device, as "0-7,16-23"; NULL. */
static char *cpus_near(const char *pci)
{
	hwloc_topology_t topology;
	hwloc_obj_t obj;
	char *cpus = NULL;

	if (hwloc_topology_init(&topology) < 0)
		return NULL;
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (hwloc_topology_load(topology) == 0) {
		obj = hwloc_get_pcidev_by_busidstring(topology, pci);
		if (obj)
			obj = hwloc_get_non_io_ancestor_obj(topology, obj);
		if (obj && obj->cpuset)
			hwloc_bitmap_list_asprintf(&cpus, obj->cpuset);
	}
	hwloc_topology_destroy(topology);
	return cpus;
}

static char *all_cores(const node_config_load_t *node)
{
	uint32_t cores = node->cpu_cnt;

	if (node->in_slurmd && &conf && conf && conf->conf_sockets && conf->conf_cores)
		cores = (uint32_t)conf->conf_sockets * conf->conf_cores;
	return xstrdup_printf("0-%u", cores ? cores - 1 : 0);
}

char *gs_cores_near(const char *file, const node_config_load_t *node)
{
	struct gs_nvidia gpu;
	char *cpus = NULL, *cores = NULL;

	if (node->in_slurmd && node->xcpuinfo_mac_to_abs &&
	    gs_nvidia_of_file(GS_NVIDIA_GPUS, file, &gpu) == 0)
		cpus = cpus_near(gpu.pci);
	if (cpus && node->xcpuinfo_mac_to_abs(cpus, &cores) != SLURM_SUCCESS)
		xfree(cores);
	free(cpus);
	return cores ? cores : all_cores(node);
}

int gs_gres_types_have_gpu(void)
{
	const char *at = slurm_conf.gres_plugins;

	for (; at && *at; at += strspn(at, ",")) {
		size_t length = strcspn(at, ",");

		if (length == 3 && strncmp(at, "gpu", 3) == 0)
			return 1;
		at += length;
	}
	return 0;
}
