/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A temporary file without a name, for what need not be in memory. */
#ifndef GPUSHARE_SIM_TEMPORARY_H
#define GPUSHARE_SIM_TEMPORARY_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/*
 * In $TMPDIR; without one in /var/tmp, as /tmp may be memory, or else in /tmp.  Its
 * descriptor; -1 with the reason.
 */
int sim_temporary(struct gs_error *err);

/* All n bytes at the offset.  0, -1 with the reason. */
int sim_temporary_write(int fd, uint64_t at, const void *bytes, size_t n, struct gs_error *err);

#endif
