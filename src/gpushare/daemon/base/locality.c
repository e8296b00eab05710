/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binds the daemon near its GPUs with hwloc; see locality.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/locality.h"

#include <hwloc.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/nvidia.h"

/* Adds the cores nearest to one GPU to `near_by`; returns 1 if they are known. */
static int add_gpu(hwloc_topology_t topology, const struct gs_config_gpu *gpu,
		   hwloc_bitmap_t near_by)
{
	hwloc_obj_t obj;
	struct gs_nvidia nvidia;

	if (gs_nvidia_of_file(GS_NVIDIA_GPUS, gpu->file, &nvidia) < 0) {
		gs_log(GS_LOG_INFO, "gpu %u: no PCI device behind %s: no GPU locality", gpu->index,
		       gpu->file ? gpu->file : "it (emulated, or no File=)");
		return 0;
	}
	obj = hwloc_get_pcidev_by_busidstring(topology, nvidia.pci);
	if (obj)
		obj = hwloc_get_non_io_ancestor_obj(topology, obj);
	if (!obj || !obj->cpuset) {
		gs_log(GS_LOG_INFO, "gpu %u: hwloc does not know where %s is", gpu->index,
		       nvidia.pci);
		return 0;
	}
	hwloc_bitmap_or(near_by, near_by, obj->cpuset);
	return 1;
}

static void bind_to(hwloc_topology_t topology, hwloc_const_bitmap_t near_by)
{
	char *cores = NULL;

	hwloc_bitmap_list_asprintf(&cores, near_by);
	if (hwloc_set_cpubind(topology, near_by, HWLOC_CPUBIND_PROCESS) < 0)
		gs_log(GS_LOG_WARN, "cannot bind to the cores %s near the GPU", cores);
	else
		gs_log(GS_LOG_INFO, "bound to the cores %s near the GPU", cores);
	free(cores);
}

void gs_locality_bind(const struct gs_config *config)
{
	hwloc_topology_t topology;
	hwloc_bitmap_t near_by;
	int known = 0;

	if (hwloc_topology_init(&topology) < 0)
		return;
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	near_by = hwloc_bitmap_alloc();
	if (near_by && hwloc_topology_load(topology) == 0) {
		for (size_t i = 0; i < config->ngpu; i++)
			known += add_gpu(topology, &config->gpu[i], near_by);
		if (known)
			bind_to(topology, near_by);
	}
	hwloc_bitmap_free(near_by);
	hwloc_topology_destroy(topology);
}
