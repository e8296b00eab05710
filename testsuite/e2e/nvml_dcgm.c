/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml_dcgm: asks NVML for the processes of the first device by the functions that DCGM's process
 * view asks, a line for each. The library is opened by its bare name, and a function is looked up
 * when it is called. Lists of processes are asked for as DCGM's source does: how long they are with
 * no room, then with exactly so much.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../unit/nvml_types.h"

#define SAMPLES 5

static void *library, *device;

static void *find(const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		printf("%s is not there\n", name);
		exit(1);
	}
	return p;
}
#define CALL(name, type) ((int(*) type)(uintptr_t)find(name))

static void processes(const char *name)
{
	int (*get)(void *, unsigned int *, void *) = CALL(name, (void *, unsigned int *, void *));
	unsigned int n = 0, room;
	struct process_v1 *p;
	int rc = get(device, &n, NULL);

	printf("%s room rc=%d n=%u\n", name, rc, n);
	if (rc != NVML_ERROR_INSUFFICIENT_SIZE)
		return;
	room = n;
	p = calloc(room, sizeof(*p));
	rc = p ? get(device, &n, p) : -1;
	printf("%s rc=%d:", name, rc);
	for (unsigned int i = 0; rc == NVML_SUCCESS && i < n && i < room; i++)
		printf(" %u=%llu", p[i].pid, p[i].bytes);
	printf("\n");
	free(p);
}

static void stats(const char *of, unsigned int pid)
{
	struct accounting a = { 0 };
	int rc = CALL("nvmlDeviceGetAccountingStats",
		      (void *, unsigned int, struct accounting *))(device, pid, &a);

	printf("stats %s rc=%d pid=%u most=%llu\n", of, rc, pid, a.most_bytes);
}

static void accounting(void)
{
	unsigned int on = 0, n = 0, *pid;
	int rc;

	rc = CALL("nvmlDeviceGetAccountingMode", (void *, unsigned int *))(device, &on);
	printf("accounting rc=%d on=%u\n", rc, on);
	rc = CALL("nvmlDeviceGetAccountingBufferSize", (void *, unsigned int *))(device, &n);
	pid = calloc(n, sizeof(*pid));
	if (rc != NVML_SUCCESS || !pid)
		exit(1);
	rc = CALL("nvmlDeviceGetAccountingPids", (void *, unsigned int *, unsigned int *))(device,
											   &n, pid);
	printf("accounted rc=%d n=%u\n", rc, n);
	for (unsigned int i = 0; rc == NVML_SUCCESS && i < n; i++)
		stats("own", pid[i]);
	free(pid);
	stats("foreign", 1);
}

static void utilization(void)
{
	int (*get)(void *, struct sample *, unsigned int *, unsigned long long) =
		CALL("nvmlDeviceGetProcessUtilization",
		     (void *, struct sample *, unsigned int *, unsigned long long));
	unsigned int n = 0, room;
	struct sample *s;
	int rc = get(device, NULL, &n, 0);

	printf("samples room rc=%d n=%u\n", rc, n);
	if (rc != NVML_ERROR_INSUFFICIENT_SIZE)
		return;
	room = n;
	s = calloc(room, sizeof(*s));
	rc = s ? get(device, s, &n, 0) : -1;
	printf("samples rc=%d:", rc);
	for (unsigned int i = 0; rc == NVML_SUCCESS && i < n && i < room; i++)
		printf(" %u=%u", s[i].pid, s[i].sm);
	printf("\n");
	free(s);
}

static void fields(void)
{
	struct field_value v[2] = { { .field = 83 }, { .field = 142 } };
	int rc =
		CALL("nvmlDeviceGetFieldValues", (void *, int, struct field_value *))(device, 2, v);

	printf("fields rc=%d %u=%llu %u=%llu\n", rc, v[0].field, v[0].value, v[1].field,
	       v[1].value);
}

static void memory(void)
{
	unsigned long long m[3] = { 0 };
	unsigned int rates[2] = { 0 };
	int rc = CALL("nvmlDeviceGetMemoryInfo", (void *, void *))(device, m);

	printf("framebuffer rc=%d total=%llu\n", rc, m[0] >> 20);
	/* Again and again, as it samples a GPU: each answer is of the time since the one before. */
	for (int i = 0; i < SAMPLES; i++) {
		rc = CALL("nvmlDeviceGetUtilizationRates", (void *, void *))(device, rates);
		printf("gpu_util rc=%d gpu=%u\n", rc, rates[0]);
		usleep(200000);
	}
}

int main(void)
{
	unsigned int n = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	if (CALL("nvmlInit_v2", (void))() != NVML_SUCCESS ||
	    CALL("nvmlDeviceGetCount_v2", (unsigned int *))(&n) != NVML_SUCCESS || n != 1 ||
	    CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned int, void **))(0, &device) !=
		    NVML_SUCCESS)
		return 1;
	processes("nvmlDeviceGetComputeRunningProcesses");
	processes("nvmlDeviceGetGraphicsRunningProcesses");
	accounting();
	utilization();
	fields();
	memory();
	return CALL("nvmlShutdown", (void))() != NVML_SUCCESS;
}
