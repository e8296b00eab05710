/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of ours behind the WRAPPED entry points.  They carry the
 * driver's own names and prototypes (driver/cuda.h, more_cuda.h); this header
 * only undoes the renaming macros that would hide the old versions.
 */
#ifndef GPUSHARE_SHIM_WRAPS_H
#define GPUSHARE_SHIM_WRAPS_H

#include "device/shim/shim.h"

#undef cuGetProcAddress

#endif
