/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds it by minor numbers and places on the bus; see device_file.h. */
#include "gpushare/bench/device_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nvidia.h"

#define MINORS 256

static int by_place(const void *a, const void *b)
{
	const struct gs_nvidia *x = a, *y = b;

	return strcmp(x->pci, y->pci);
}

int bench_device_file(uint32_t n, char *file, size_t room)
{
	struct gs_nvidia gpu[MINORS], one;
	uint32_t count = 0;

	for (unsigned minor = 0; minor < MINORS; minor++) {
		snprintf(file, room, "/dev/nvidia%u", minor);
		count += gs_nvidia_of_file(GS_NVIDIA_GPUS, file, &gpu[count]) == 0;
	}
	qsort(gpu, count, sizeof(*gpu), by_place);
	for (unsigned minor = 0; n < count && minor < MINORS; minor++) {
		snprintf(file, room, "/dev/nvidia%u", minor);
		if (gs_nvidia_of_file(GS_NVIDIA_GPUS, file, &one) == 0 &&
		    strcmp(one.pci, gpu[n].pci) == 0)
			return 1;
	}
	return 0;
}
