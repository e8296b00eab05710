/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of processes: only the job's own.  The driver fills a list of our own, which has room for
 * everybody's; what is left of it goes to the program.
 */
#include <stdlib.h>
#include <string.h>

#include "device/nvml/figures.h"
#include "device/nvml/nvml.h"
#include "device/nvml/processes.h"

/* A list is requested again when it has grown since its length was. */
#define TRIES 4
#define ROOM_MORE 256
/* The driver is told of a part of the room: early drivers 535 have longer entries in _v3. */
#define SPARE 2

/* Facts of NVML's interface. */
struct process_v1 {
	unsigned int pid;
	unsigned long long bytes;
};
struct process {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int gpu_instance, compute_instance;
};
struct detail {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int gpu_instance, compute_instance;
	unsigned long long protected_bytes;
};
struct detail_list {
	unsigned int version, mode, n;
	struct detail *process;
};
struct sample {
	unsigned int pid;
	unsigned long long at_us;
	unsigned int sm, memory, encoder, decoder;
};
struct sample_v1 {
	unsigned long long at_us;
	unsigned int pid, sm, memory, encoder, decoder, jpeg, optical_flow;
};
struct sample_list {
	unsigned int version, n;
	unsigned long long since_us;
	struct sample_v1 *sample;
};

/* Move the job's own entries to the front; how many. */
static unsigned int keep_own(const struct nvml_list *list, const struct nvml_figures *figures,
			     char *entries, unsigned int n)
{
	unsigned int kept = 0, pid;

	for (unsigned int i = 0; i < n; i++) {
		char *entry = entries + i * list->size;

		memcpy(&pid, entry + list->pid_at, sizeof(pid));
		if (nvml_figures_has_pid(figures, pid))
			memmove(entries + kept++ * list->size, entry, list->size);
	}
	return kept;
}

/* All that the driver lists, *n entries that the caller frees; NULL with the driver's answer. */
static char *get_all(const struct nvml_list *list, unsigned int *n, int *rc)
{
	unsigned int room = ROOM_MORE;

	for (int i = 0; i < TRIES; i++) {
		char *entries = calloc(room, SPARE * list->size);

		*n = room;
		*rc = entries ? list->get(list, n, entries) : NVML_ERROR_MEMORY;
		if (*rc == NVML_SUCCESS) {
			*n = *n < room ? *n : room;
			return entries;
		}
		free(entries);
		if (*rc != NVML_ERROR_INSUFFICIENT_SIZE)
			return NULL;
		room = *n + ROOM_MORE;
	}
	return NULL;
}

int nvml_list_own(const struct nvml_list *list, unsigned int *n, void *entries)
{
	struct nvml_figures figures;
	unsigned int all, kept;
	char *found;
	int rc;

	if (!n || !nvml_figures_of(list->device, &figures))
		return list->get(list, n, entries);
	found = get_all(list, &all, &rc);
	if (!found) {
		if (rc == NVML_ERROR_INSUFFICIENT_SIZE)
			*n = all;
		return rc;
	}
	kept = keep_own(list, &figures, found, all);
	rc = kept > *n || (kept && !entries) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
	if (rc == NVML_SUCCESS && kept)
		memcpy(entries, found, kept * list->size);
	*n = kept;
	free(found);
	return rc;
}

static int get_plain(const struct nvml_list *list, unsigned int *n, void *entries)
{
	typedef int get(void *device, unsigned int *n, void *entries);

	return ((get *)(uintptr_t)nvml_real(list->fn))(list->device, n, entries);
}

#define PROCESSES(name, type) \
	NVML_EXPORT int name(void *device, unsigned int *n, type *info); \
	int name(void *device, unsigned int *n, type *info) \
	{ \
		const struct nvml_list list = { get_plain, NVML_FN_##name, sizeof(type), \
						0,         device,         NULL }; \
\
		return nvml_list_own(&list, n, info); \
	}

PROCESSES(nvmlDeviceGetComputeRunningProcesses, struct process_v1)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, struct process)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, struct process)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, struct process_v1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, struct process)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, struct process)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, struct process_v1)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, struct process)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, struct process)
PROCESSES(nvmlDeviceGetAccountingPids, unsigned int)

/* The list in a struct of the caller's, who says there how much room it has. */
static int get_details(const struct nvml_list *list, unsigned int *n, void *entries)
{
	typedef int get(void *device, struct detail_list *list);
	struct detail_list request = *(const struct detail_list *)list->more;
	int rc;

	request.n = *n;
	request.process = entries;
	rc = ((get *)(uintptr_t)nvml_real(list->fn))(list->device, &request);
	*n = request.n;
	return rc;
}

NVML_EXPORT int nvmlDeviceGetRunningProcessDetailList(void *device, struct detail_list *details);
int nvmlDeviceGetRunningProcessDetailList(void *device, struct detail_list *details)
{
	const struct nvml_list list = { get_details,
					NVML_FN_nvmlDeviceGetRunningProcessDetailList,
					sizeof(struct detail),
					0,
					device,
					details };

	return details ? nvml_list_own(&list, &details->n, details->process) :
			 NVML_ERROR_INVALID_ARGUMENT;
}

static int get_samples(const struct nvml_list *list, unsigned int *n, void *entries)
{
	typedef int get(void *device, void *entries, unsigned int *n, unsigned long long since_us);

	return ((get *)(uintptr_t)nvml_real(list->fn))(list->device, entries, n,
						       *(const unsigned long long *)list->more);
}

NVML_EXPORT int nvmlDeviceGetProcessUtilization(void *device, struct sample *samples,
						unsigned int *n, unsigned long long since_us);
int nvmlDeviceGetProcessUtilization(void *device, struct sample *samples, unsigned int *n,
				    unsigned long long since_us)
{
	const struct nvml_list list = { get_samples,
					NVML_FN_nvmlDeviceGetProcessUtilization,
					sizeof(struct sample),
					0,
					device,
					&since_us };

	return nvml_list_own(&list, n, samples);
}

static int get_sample_list(const struct nvml_list *list, unsigned int *n, void *entries)
{
	typedef int get(void *device, struct sample_list *list);
	struct sample_list request = *(const struct sample_list *)list->more;
	int rc;

	request.n = *n;
	request.sample = entries;
	rc = ((get *)(uintptr_t)nvml_real(list->fn))(list->device, &request);
	*n = request.n;
	return rc;
}

NVML_EXPORT int nvmlDeviceGetProcessesUtilizationInfo(void *device, struct sample_list *samples);
int nvmlDeviceGetProcessesUtilizationInfo(void *device, struct sample_list *samples)
{
	const struct nvml_list list = { get_sample_list,
					NVML_FN_nvmlDeviceGetProcessesUtilizationInfo,
					sizeof(struct sample_v1),
					offsetof(struct sample_v1, pid),
					device,
					samples };

	return samples ? nvml_list_own(&list, &samples->n, samples->sample) :
			 NVML_ERROR_INVALID_ARGUMENT;
}
