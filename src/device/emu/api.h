/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver's declarations, for who defines them: entry points are visible from outside. */
#ifndef GPUSHARE_EMU_API_H
#define GPUSHARE_EMU_API_H

#ifndef CUDAAPI
#define CUDAAPI __attribute__((visibility("default")))
#endif

#include "device/driver/cuda.h"

#endif
