/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks NVML in a helper process; see memory_check.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gpushare/daemon/memory/memory_check.h"

/* Parts of NVML's interface. */
struct process_info {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int gpu_instance, compute_instance;
};
struct memory_info {
	unsigned long long total, free, used;
};
#define NOT_AVAILABLE (~0ull)
#define PROCESSES_MAX 256

static struct {
	int (*init)(void);
	int (*count)(unsigned int *n);
	int (*handle)(unsigned int index, void **device);
	int (*processes)(void *device, unsigned int *n, struct process_info *info);
	int (*memory)(void *device, struct memory_info *info); /* NULL: NVML does not have it */
	int (*energy)(void *device, unsigned long long *mj);   /* NULL: NVML does not have it */
} nvml;

static int open_nvml(const char *library, char *why, size_t size)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(why, size, "%s", dlerror());
		return -1;
	}
	*(void **)&nvml.init = dlsym(lib, "nvmlInit_v2");
	*(void **)&nvml.count = dlsym(lib, "nvmlDeviceGetCount_v2");
	*(void **)&nvml.handle = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&nvml.processes = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
	*(void **)&nvml.memory = dlsym(lib, "nvmlDeviceGetMemoryInfo");
	*(void **)&nvml.energy = dlsym(lib, "nvmlDeviceGetTotalEnergyConsumption");
	if (!nvml.init || !nvml.count || !nvml.handle || !nvml.processes) {
		snprintf(why, size, "%s is too old", library);
		return -1;
	}
	if (nvml.init() != 0) {
		snprintf(why, size, "%s finds no driver", library);
		return -1;
	}
	return 0;
}

static void query(struct gs_nvml_answer *answer)
{
	static struct process_info info[PROCESSES_MAX];
	unsigned int devices = 0;
	void *device;

	if (nvml.count(&devices) != 0)
		return;
	for (unsigned int gpu = 0; gpu < devices; gpu++) {
		unsigned int n = PROCESSES_MAX;
		struct memory_info memory;
		unsigned long long mj;

		if (nvml.handle(gpu, &device) != 0)
			continue;
		if (gpu < GS_CONFIG_GPUS_MAX && nvml.memory && nvml.memory(device, &memory) == 0)
			answer->gpu[gpu] =
				(struct gs_nvml_gpu) { .total = memory.total, .used = memory.used };
		if (gpu < GS_CONFIG_GPUS_MAX && nvml.energy && nvml.energy(device, &mj) == 0)
			answer->gpu[gpu].energy_mj = mj;
		if (nvml.processes(device, &n, info) != 0)
			continue;
		for (unsigned int i = 0; i < n && answer->n < GS_NVML_USES_MAX; i++)
			if (info[i].bytes != NOT_AVAILABLE)
				answer->use[answer->n++] =
					(struct gs_nvml_use) { gpu, (int32_t)info[i].pid,
							       info[i].bytes };
	}
}

void gs_nvml_helper(int sock, const char *library)
{
	static struct gs_nvml_answer answer;
	int opened = 0, bad = 0;
	char c;

	while (recv(sock, &c, 1, 0) == 1) {
		answer.n = 0;
		memset(answer.gpu, 0, sizeof(answer.gpu));
		if (!opened) {
			bad = open_nvml(library, answer.why, sizeof(answer.why)) < 0;
			opened = 1;
		}
		if (!bad)
			query(&answer);
		if (send(sock, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return;
	}
}
