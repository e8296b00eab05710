/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which device file a GPU has. */
#ifndef GPUSHARE_BENCH_DEVICE_FILE_H
#define GPUSHARE_BENCH_DEVICE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Write the device file of GPU n, as nvidia-smi counts by the places on the bus, into `file`.
 * Returns 1, or 0 if it is not known. */
int bench_device_file(uint32_t n, char *file, size_t room);

#endif
