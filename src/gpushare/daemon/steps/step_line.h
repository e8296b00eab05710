/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step's registration as a line of the state file (state.h).  Pure. */
#ifndef GPUSHARE_DAEMON_STEP_LINE_H
#define GPUSHARE_DAEMON_STEP_LINE_H

#include <stddef.h>

#include "gpushare/daemon/base/step.h"

/* Writes one line without the newline; returns its length like snprintf(). */
int gs_state_print(const struct gs_step_info *info, char *buf, size_t size);
/* The reverse. Returns 0; -1 if it is not exactly such a line. */
int gs_state_parse(const char *line, struct gs_step_info *info);

#endif
