/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binding the daemon near its GPUs with hwloc; see locality.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/locality.h"

#include <dirent.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/log.h"

#define NVIDIA_GPUS "/proc/driver/nvidia/gpus"

static int minor_of(const char *root, const char *busid)
{
	char path[512], line[256];
	int found = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/information", root, busid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Device Minor: %d", &found) == 1)
			break;
	fclose(f);
	return found;
}

int gs_locality_pci(const char *root, unsigned minor_no, char *busid, unsigned size)
{
	DIR *dir = opendir(root);
	struct dirent *e;
	int ret = -1;

	if (!dir)
		return -1;
	while (ret < 0 && (e = readdir(dir)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < size &&
		    minor_of(root, e->d_name) == (int)minor_no) {
			strcpy(busid, e->d_name);
			ret = 0;
		}
	closedir(dir);
	return ret;
}

/* The cores nearest to one GPU are added to `near_by`; 1 if they are known. */
static int add_gpu(hwloc_topology_t topology, const struct gs_config_gpu *gpu,
		   hwloc_bitmap_t near_by)
{
	hwloc_obj_t obj;
	char busid[32];
	struct stat st;

	if (!gpu->file || stat(gpu->file, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    gs_locality_pci(NVIDIA_GPUS, minor(st.st_rdev), busid, sizeof(busid)) < 0) {
		gs_log(GS_LOG_INFO, "gpu %u: no PCI device behind %s: no GPU locality",
		       gpu->index, gpu->file ? gpu->file : "it (emulated, or no File=)");
		return 0;
	}
	obj = hwloc_get_pcidev_by_busidstring(topology, busid);
	if (obj)
		obj = hwloc_get_non_io_ancestor_obj(topology, obj);
	if (!obj || !obj->cpuset) {
		gs_log(GS_LOG_INFO, "gpu %u: hwloc does not know where %s is", gpu->index, busid);
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
