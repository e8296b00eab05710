/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of the test in a kernel's body: every block-task counts itself, and
 * every k-th one writes the word that tells the kernel to leave.  So the eviction comes from
 * within, at an exact block-task, on the emulated device as on a GPU.
 */
#ifndef GPUSHARE_EQUIV_PROBE_H
#define GPUSHARE_EQUIV_PROBE_H

#include <stdint.h>

#include "device/ptx/ast.h"

#define PROBE_NAME "gpushare_probe"

/* The module's variable of that name. */
struct probe {
	uint32_t started; /* block-tasks that have begun */
	uint32_t every;   /* k; UINT32_MAX: never */
	uint64_t limit;   /* device address of the word to write */
	uint32_t value;   /* what is written there */
	uint32_t pad[3];
	uint32_t count[]; /* by block-task */
};

/* The module with the probe in its entry `kernel`, the other entries left out if they can be;
 * malloc'd, NULL if there is no such entry. */
char *probe_insert(const struct ptx_module *ast, const char *kernel, uint64_t tasks);

#endif
