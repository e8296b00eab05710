/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: a line of the state file that names a process which was awake. What is taken is
 * exactly what would be written, and names no process group and no file but a freezer's of the job.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/checkpoint/woken.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1), again[GS_STATE_LINE_MAX], job[24];
	struct gs_woken_line line;

	if (!text)
		return 0;
	memcpy(text, data, size);
	if (gs_woken_parse(text, &line) == 0) {
		if (gs_woken_print(&line, again, sizeof(again)) >= (int)sizeof(again) ||
		    strcmp(again, text) != 0)
			abort();
		snprintf(job, sizeof(job), "/job_%u/", line.job_id);
		if (line.woken.pid <= 1 ||
		    (*line.woken.how.frozen && !strstr(line.woken.how.frozen, job)))
			abort();
	}
	free(text);
	return 0;
}
