/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of gpushare-ptx. */
#ifndef GPUSHARE_PTX_TOOL_H
#define GPUSHARE_PTX_TOOL_H

#include <stdio.h>

#include "device/ptx/transform.h"

/* Exit statuses (gpushare-ptx(1)). */
enum { TOOL_OK = 0, TOOL_NOT_PREEMPTIBLE = 1, TOOL_ERROR = 2 };

/* A whole file, or standard input for "-"; malloc'd. NULL with the reason in err. */
char *tool_read(const char *path, size_t *len, struct gs_error *err);

/* One line per kernel and a summary; -1 when writing failed. */
int tool_report_text(FILE *to, const char *path, const struct ptx_transformed *t);
int tool_report_json(FILE *to, const char *path, const struct ptx_transformed *t);

/* Kernels that stay as they are. */
uint32_t tool_count_as_is(const struct ptx_transformed *t);

#endif
