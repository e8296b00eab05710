/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory: the step's limit, what its programs hold of it, and what is left. */
#include "device/nvml/figures.h"
#include "device/nvml/nvml.h"

/* Facts of NVML's interface. */
struct memory_info {
	unsigned long long total, free, used;
};
struct memory_info_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};

NVML_EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory_info *info);
NVML_EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_info_v2 *info);

/* 1: *limit and *used are the step's. */
static int of_step(void *device, unsigned long long *limit, unsigned long long *used)
{
	struct nvml_figures figures;

	if (!nvml_figures_of(device, &figures) || !figures.step.reservation)
		return 0;
	*limit = figures.step.reservation;
	*used = figures.step.used < *limit ? figures.step.used : *limit;
	return 1;
}

/* The driver is asked first: it knows whether it was begun, and what a device is. */
int nvmlDeviceGetMemoryInfo(void *device, struct memory_info *info)
{
	typedef int get(void *device, struct memory_info *info);
	int rc = NVML_REAL(get *, nvmlDeviceGetMemoryInfo)(device, info);

	if (rc == NVML_SUCCESS && of_step(device, &info->total, &info->used))
		info->free = info->total - info->used;
	return rc;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_info_v2 *info)
{
	typedef int get(void *device, struct memory_info_v2 *info);
	int rc = NVML_REAL(get *, nvmlDeviceGetMemoryInfo_v2)(device, info);

	if (rc == NVML_SUCCESS && of_step(device, &info->total, &info->used)) {
		info->free = info->total - info->used;
		info->reserved = 0; /* what the driver keeps for itself is of nobody's limit */
	}
	return rc;
}
