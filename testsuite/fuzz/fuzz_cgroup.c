/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: two texts as /proc/<pid>/cgroup has them, with a NUL between.
 * Nobody's path gets into a step but below a path of the registrant's own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/base/step_cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *process = calloc(1, size + 2), *registrant;
	enum gs_in_cgroup in;
	uint32_t other = 0;

	if (!process)
		return 0;
	memcpy(process, data, size);
	registrant = process + strlen(process);
	registrant += registrant < process + size;
	in = gs_step_cgroup_find(process, registrant, 5, 0, &other);
	if (in == GS_IN_OTHER_STEP && other == 0)
		abort();
	if (in != GS_IN_NO_STEP &&
	    (!strstr(registrant, "/job_5") || !strstr(process, "/job_5/step_")))
		abort();
	if (gs_step_cgroup_find(process, "0::/\n4:freezer:/slurm\n", 5, 0, NULL) != GS_IN_NO_STEP)
		abort();
	free(process);
	return 0;
}
