/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An NVML that says of every process in the file $FAKE_NVML ("pid bytes" lines) what it has. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

struct process_info {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int gpu_instance, compute_instance;
};

struct memory_info {
	unsigned long long total, free, used;
};

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory_info *info);
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n,
						   struct process_info *info);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);

int nvmlInit_v2(void)
{
	return getenv("FAKE_NVML") ? 0 : 9;
}

/* The device that it lists has what $FAKE_NVML_DEVICE says: "total used", or the file of that name.
 */
int nvmlDeviceGetMemoryInfo(void *device, struct memory_info *info)
{
	const char *text = getenv("FAKE_NVML_DEVICE");
	char line[64] = "";
	FILE *f = text && *text == '/' ? fopen(text, "r") : NULL;

	(void)device;
	if (f) {
		text = fgets(line, sizeof(line), f);
		fclose(f);
	}
	if (!text || sscanf(text, "%llu %llu", &info->total, &info->used) != 2)
		return 3;
	info->free = info->total - info->used;
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *n)
{
	*n = 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	*device = NULL;
	return index ? 2 : 0;
}

/* $FAKE_NVML_WATTS: what the device takes all the time; NULL: it has no counter. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	const char *watts = getenv("FAKE_NVML_WATTS");
	struct timespec now;

	(void)device;
	if (!watts)
		return 3;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*mj = (unsigned long long)(atof(watts) *
				   ((double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6));
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n,
					    struct process_info *info)
{
	FILE *f = fopen(getenv("FAKE_NVML"), "r");
	unsigned int room = *n;

	(void)device;
	*n = 0;
	while (f && *n < room && fscanf(f, "%u %llu", &info[*n].pid, &info[*n].bytes) == 2)
		++*n;
	if (f)
		fclose(f);
	return 0;
}
