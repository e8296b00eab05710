/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An NVML that says of every process in the file $FAKE_NVML ("pid bytes" lines) what it has.
 * $FAKE_NVML_COUNT: devices (1); all of them say the same but for their numbers.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvml_types.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory_info *info);
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_info_v2 *info);
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInitWithFlags(unsigned int flags);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
EXPORT int nvmlDeviceGetMigMode(void *device, unsigned int *current, unsigned int *pending);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
EXPORT int nvmlDeviceGetIndex(void *device, unsigned int *index);
EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int size);
EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *n,
						struct process_v1 *info);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned int *n,
						   struct process_info *info);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n,
						   struct process_info *info);
EXPORT int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned int *n,
						 struct process_v1 *info);
EXPORT int nvmlDeviceGetAccountingMode(void *device, unsigned int *on);
EXPORT int nvmlDeviceGetAccountingBufferSize(void *device, unsigned int *n);
EXPORT int nvmlDeviceGetAccountingPids(void *device, unsigned int *n, unsigned int *pids);
EXPORT int nvmlDeviceGetAccountingStats(void *device, unsigned int pid, struct accounting *stats);
EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field_value *values);
EXPORT int nvmlDeviceGetProcessUtilization(void *device, struct sample *samples, unsigned int *n,
					   unsigned long long since_us);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
EXPORT int nvmlDeviceGetMemoryLimits_v1(void *device, unsigned long long *limit);
EXPORT int nvmlInternalGetExportTable(const void **table, const void *id);
EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned int size);

int nvmlInit_v2(void)
{
	return getenv("FAKE_NVML") ? 0 : 9;
}

int nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return nvmlInit_v2();
}

int nvmlShutdown(void)
{
	return 0;
}

const char *nvmlErrorString(int result)
{
	return result ? "fake error" : "fake success";
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
		return NVML_ERROR_NOT_SUPPORTED;
	info->free = info->total - info->used;
	return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_info_v2 *info)
{
	struct memory_info whole;
	int rc = nvmlDeviceGetMemoryInfo(device, &whole);

	if (rc == 0) {
		info->total = whole.total;
		info->reserved = 1;
		info->used = whole.used;
		info->free = whole.free;
	}
	return rc;
}

/* FAKE_NVML_HANGS: the call does not return while this file is there. */
static void hang(void)
{
	const char *file = getenv("FAKE_NVML_HANGS");

	while (file && access(file, F_OK) == 0)
		usleep(20000);
}

int nvmlDeviceGetCount_v2(unsigned int *n)
{
	const char *count = getenv("FAKE_NVML_COUNT");

	hang();
	*n = count ? (unsigned int)atoi(count) : 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	unsigned int n = 0;

	nvmlDeviceGetCount_v2(&n);
	*device = (void *)(uintptr_t)index;
	return index < n ? 0 : 2;
}

/* $FAKE_NVML_MIG: the number of the device that is in MIG mode; it has the instance MIG-fake-0. */
int nvmlDeviceGetMigMode(void *device, unsigned int *current, unsigned int *pending)
{
	const char *mig = getenv("FAKE_NVML_MIG");

	*current = *pending = mig && (unsigned int)(uintptr_t)device == (unsigned int)atoi(mig);
	return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	*device = NULL;
	return strcmp(uuid, "MIG-fake-0") == 0 && getenv("FAKE_NVML_MIG") ? 0 : 6;
}

int nvmlDeviceGetIndex(void *device, unsigned int *index)
{
	*index = (unsigned int)(uintptr_t)device;
	return 0;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int size)
{
	snprintf(uuid, size, "GPU-fake-%u", (unsigned int)(uintptr_t)device);
	return 0;
}

/* $FAKE_NVML_WATTS: what the device takes all the time; NULL: it has no counter. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	const char *watts = getenv("FAKE_NVML_WATTS");
	struct timespec now;

	(void)device;
	if (!watts)
		return NVML_ERROR_NOT_SUPPORTED;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*mj = (unsigned long long)(atof(watts) *
				   ((double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6));
	return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates)
{
	(void)device;
	rates->gpu = 77;
	rates->memory = 33;
	return 0;
}

/* Of the newest drivers only. */
int nvmlDeviceGetMemoryLimits_v1(void *device, unsigned long long *limit)
{
	(void)device;
	*limit = 4711;
	return 0;
}

/* The lines of the file; as in the driver's, *n is how many there are where not all fit. */
static int list(unsigned int *n,
		void (*put)(void *entries, unsigned int i, unsigned int pid,
			    unsigned long long bytes),
		void *entries)
{
	FILE *f = fopen(getenv("FAKE_NVML"), "r");
	unsigned int room = *n, pid;
	unsigned long long bytes;

	*n = 0;
	while (f && fscanf(f, "%u %llu", &pid, &bytes) == 2) {
		if (*n < room && entries)
			put(entries, *n, pid, bytes);
		++*n;
	}
	if (f)
		fclose(f);
	return *n > room || (*n && !entries) ? NVML_ERROR_INSUFFICIENT_SIZE : 0;
}

static void put_v1(void *entries, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	((struct process_v1 *)entries)[i] = (struct process_v1) { pid, bytes };
}

static void put_v3(void *entries, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	((struct process_info *)entries)[i] = (struct process_info) { pid, bytes, ~0u, ~0u };
}

static void put_sample(void *entries, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	((struct sample *)entries)[i] = (struct sample) { pid, bytes, 50, 5, 0, 0 };
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *n, struct process_v1 *info)
{
	(void)device;
	return list(n, put_v1, info);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned int *n,
					    struct process_info *info)
{
	return nvmlDeviceGetComputeRunningProcesses_v3(device, n, info);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n,
					    struct process_info *info)
{
	(void)device;
	return list(n, put_v3, info);
}

int nvmlDeviceGetProcessUtilization(void *device, struct sample *samples, unsigned int *n,
				    unsigned long long since_us)
{
	(void)device;
	(void)since_us;
	return list(n, put_sample, samples);
}

int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned int *n, struct process_v1 *info)
{
	(void)device, (void)info;
	*n = 0;
	return 0;
}

static void put_in_table(void *entries, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	struct table_entry *entry = (struct table_entry *)entries + i;

	memset(entry, ~0, sizeof(*entry));
	entry->pid = pid;
	entry->bytes = bytes;
}

static int list_of_table(void *device, unsigned int *n, void *entries)
{
	(void)device;
	return list(n, put_in_table, entries);
}

/* $FAKE_NVML_VERSION: of another driver. */
int nvmlSystemGetDriverVersion(char *version, unsigned int size)
{
	const char *text = getenv("FAKE_NVML_VERSION");

	snprintf(version, size, "%s", text ? text : "580.1");
	return 0;
}

/* $FAKE_NVML_SHORT: it ends before the last list.  Any other name is that of a second table. */
int nvmlInternalGetExportTable(const void **table, const void *id)
{
	static uintptr_t tables[2][(NVML_TABLE_MPS + 8) / sizeof(uintptr_t)];
	uintptr_t *to = tables[memcmp(id, NVML_TABLE_ID, 16) == 0];

	to[0] = getenv("FAKE_NVML_SHORT") ? NVML_TABLE_MPS : sizeof(tables[0]);
	to[NVML_TABLE_COMPUTE / sizeof(uintptr_t)] = (uintptr_t)list_of_table;
	to[NVML_TABLE_GRAPHICS / sizeof(uintptr_t)] = (uintptr_t)list_of_table;
	to[NVML_TABLE_MPS / sizeof(uintptr_t)] = (uintptr_t)list_of_table;
	*table = to;
	return 0;
}

int nvmlDeviceGetAccountingMode(void *device, unsigned int *on)
{
	(void)device;
	*on = 1;
	return 0;
}

int nvmlDeviceGetAccountingBufferSize(void *device, unsigned int *n)
{
	(void)device;
	*n = 4000;
	return 0;
}

static void put_pid(void *entries, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	(void)bytes;
	((unsigned int *)entries)[i] = pid;
}

int nvmlDeviceGetAccountingPids(void *device, unsigned int *n, unsigned int *pids)
{
	(void)device;
	return list(n, put_pid, pids);
}

/* What the file's line of that process says is the most that it had. */
int nvmlDeviceGetAccountingStats(void *device, unsigned int pid, struct accounting *stats)
{
	static struct process_v1 all[64];
	unsigned int n = 64;

	if (nvmlDeviceGetComputeRunningProcesses(device, &n, all) != 0)
		return NVML_ERROR_NOT_FOUND;
	memset(stats, 0, sizeof(*stats));
	for (unsigned int i = 0; i < n; i++)
		if (all[i].pid == pid) {
			stats->most_bytes = all[i].bytes;
			return 0;
		}
	return NVML_ERROR_NOT_FOUND;
}

int nvmlDeviceGetFieldValues(void *device, int n, struct field_value *values)
{
	(void)device;
	for (int i = 0; i < n; i++) {
		values[i].rc = 0;
		values[i].value = 1000 + values[i].field;
	}
	return 0;
}
