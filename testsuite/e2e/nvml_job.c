/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml_job LIBRARY [DEVICE [TIMES]]: what that NVML says of a device, a line for each question; of
 * utilisation so often, 200 ms apart.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../unit/nvml_types.h"

static void *library, *device;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *find(const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		fprintf(stderr, "%s is not there\n", name);
		exit(1);
	}
	return p;
}
#define CALL(name, type) ((int(*) type)(uintptr_t)find(name))

static void memory(void)
{
	unsigned long long m[3] = { 0 };
	struct {
		unsigned int version;
		unsigned long long total, reserved, free, used;
	} v2 = { (unsigned int)sizeof(v2) | 2u << 24, 0, 0, 0, 0 };
	uint64_t begun = now_ms();
	int rc = CALL("nvmlDeviceGetMemoryInfo", (void *, void *))(device, m);

	printf("memory rc=%d total=%llu free=%llu used=%llu ms=%llu\n", rc, m[0] >> 20, m[1] >> 20,
	       m[2] >> 20, (unsigned long long)(now_ms() - begun));
	rc = CALL("nvmlDeviceGetMemoryInfo_v2", (void *, void *))(device, &v2);
	printf("memory_v2 rc=%d total=%llu reserved=%llu free=%llu used=%llu\n", rc, v2.total >> 20,
	       v2.reserved, v2.free >> 20, v2.used >> 20);
}

/* Entries of any kind begin with the process's number. */
static void list(const char *what, int rc, const void *entries, size_t size, unsigned int n)
{
	printf("%s rc=%d n=%u:", what, rc, n);
	for (unsigned int i = 0; rc == 0 && i < n; i++) {
		unsigned int pid;

		memcpy(&pid, (const char *)entries + i * size, sizeof(pid));
		printf(" %u", pid);
	}
	printf("\n");
}

static void processes(void)
{
	static struct process_v1 v1[64];
	static struct process_info v3[64];
	static struct sample samples[64];
	unsigned int n = 0;
	int rc = CALL("nvmlDeviceGetComputeRunningProcesses_v3",
		      (void *, unsigned int *, void *))(device, &n, NULL);

	list("room", rc, NULL, 0, n);
	n = 64;
	rc = CALL("nvmlDeviceGetComputeRunningProcesses", (void *, unsigned int *, void *))(device,
											    &n, v1);
	list("v1", rc, v1, sizeof(v1[0]), n);
	n = 64;
	rc = CALL("nvmlDeviceGetComputeRunningProcesses_v2",
		  (void *, unsigned int *, void *))(device, &n, v3);
	list("v2", rc, v3, sizeof(v3[0]), n);
	n = 64;
	rc = CALL("nvmlDeviceGetComputeRunningProcesses_v3",
		  (void *, unsigned int *, void *))(device, &n, v3);
	list("v3", rc, v3, sizeof(v3[0]), n);
	n = 64;
	rc = CALL("nvmlDeviceGetProcessUtilization",
		  (void *, void *, unsigned int *, unsigned long long))(device, samples, &n, 0);
	list("samples", rc, samples, sizeof(samples[0]), n);
}

/* One list of a table; 64 processes have room, or as many as are given. */
static void list_of_table(const char *what, const void *table, size_t at, unsigned int n)
{
	typedef int get(void *device, unsigned int *n, void *entries);
	static struct table_entry entries[64];
	size_t size;
	uintptr_t fn;
	int rc;

	memcpy(&size, table, sizeof(size));
	if (at + sizeof(fn) > size) {
		printf("%s is not there\n", what);
		return;
	}
	memcpy(&fn, (const char *)table + at, sizeof(fn));
	rc = ((get *)fn)(device, &n, n ? entries : NULL);
	list(what, rc, entries, sizeof(entries[0]), n);
}

/* As nvidia-smi asks. */
static void tables(void)
{
	typedef int get(const void **table, const void *id);
	get *fn = (get *)(uintptr_t)find("nvmlInternalGetExportTable");
	const void *table = NULL;

	if (fn(&table, NVML_TABLE_ID) != 0 || !table)
		return;
	list_of_table("table", table, NVML_TABLE_COMPUTE, 64);
	list_of_table("table room", table, NVML_TABLE_COMPUTE, 0);
	list_of_table("table of 1", table, NVML_TABLE_COMPUTE, 1);
	list_of_table("table graphics", table, NVML_TABLE_GRAPHICS, 64);
	list_of_table("table mps", table, NVML_TABLE_MPS, 64);
	if (fn(&table, "another's table.") == 0 && table)
		list_of_table("another table", table, NVML_TABLE_COMPUTE, 64);
}

static void utilization(int times)
{
	for (int i = 0; i < times; i++) {
		unsigned int rates[2] = { 0 };
		uint64_t begun = now_ms();
		int rc = CALL("nvmlDeviceGetUtilizationRates", (void *, void *))(device, rates);

		printf("utilization rc=%d gpu=%u memory=%u ms=%llu\n", rc, rates[0], rates[1],
		       (unsigned long long)(now_ms() - begun));
		usleep(200000);
	}
}

/* What passes on: a function of the newest drivers, one that this driver has not, its words. */
static void rest(void)
{
	char uuid[96] = "";
	unsigned long long limit = 0;
	const char *(*words)(int) = (const char *(*)(int))(uintptr_t)find("nvmlErrorString");
	int rc = CALL("nvmlDeviceGetMemoryLimits_v1", (void *, void *))(device, &limit);

	CALL("nvmlDeviceGetUUID", (void *, char *, unsigned int))(device, uuid, sizeof(uuid));
	printf("newest rc=%d limit=%llu uuid=%s words=%s\n", rc, limit, uuid, words(1));
	if (dlsym(library, "nvmlDeviceGetName"))
		printf("missing rc=%d\n",
		       CALL("nvmlDeviceGetName", (void *, char *, unsigned int))(device, uuid, 8));
}

int main(int argc, char **argv)
{
	unsigned int index = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	const char *(*words)(int);
	int rc;

	if (argc < 2 || argc > 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	rc = CALL("nvmlInit_v2", (void))();
	if (rc != 0) {
		words = (const char *(*)(int))(uintptr_t)find("nvmlErrorString");
		printf("init rc=%d words=%s\n", rc, words(rc));
		return 1;
	}
	if (CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned int, void **))(index, &device) != 0)
		return 1;
	memory();
	processes();
	tables();
	utilization(argc > 3 ? atoi(argv[3]) : 1);
	rest();
	return 0;
}
