/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A whole file in memory. */
#ifndef GPUSHARE_SIM_FILE_H
#define GPUSHARE_SIM_FILE_H

#include <stddef.h>

#include "common/error.h"

/* At most 1 GiB; - is standard input.  *len bytes, to be freed; NULL with the reason. */
char *sim_read_file(const char *path, size_t *len, struct gs_error *err);

#endif
