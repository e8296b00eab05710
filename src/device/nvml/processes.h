/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of processes that show the job's own only, whichever way a program asks the driver. */
#ifndef GPUSHARE_NVML_PROCESSES_H
#define GPUSHARE_NVML_PROCESSES_H

#include <stddef.h>

/* One kind of list, and how the driver is called for it: room for *n entries at `entries`. */
struct nvml_list {
	int (*get)(const struct nvml_list *list, unsigned int *n, void *entries);
	unsigned int fn;     /* what `get` calls: enum nvml_fn, or a place in nvidia-smi's table */
	size_t size, pid_at; /* of an entry; where its process's number is */
	void *device;
	void *more; /* what the caller gave beside the list */
};

/*
 * The list as the driver would answer it to a program that had the GPU to itself: *n has the room
 * at `entries` before and the number of entries after; NVML_ERROR_INSUFFICIENT_SIZE with that
 * number where the room is too small.  What `get` returns else is returned.  Where the process is
 * in no step with shares of the device, `get` is given the caller's own room.
 */
int nvml_list_own(const struct nvml_list *list, unsigned int *n, void *entries);

#endif
