/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an address lies, and which driver the shim uses. */
#ifndef GPUSHARE_SHIM_ORIGIN_H
#define GPUSHARE_SHIM_ORIGIN_H

#include "device/driver/emu_export.h"

/* Is the address in the program or in a shared library, as the dynamic linker has mapped them?
 * Otherwise it is on the heap, on a stack, or in memory that the program has mapped itself. */
int shim_is_in_object(const void *address);

/* Is it in a shared library? Otherwise it is in the program itself, or in no file that the dynamic
 * linker has loaded. */
int shim_is_in_library(const void *address);

/* The emulated device's extra interface; NULL: the driver is another one. */
const struct gs_emu_export *shim_emulated(void);

#endif
