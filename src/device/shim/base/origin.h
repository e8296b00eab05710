/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an address lies, and which driver is below us. */
#ifndef GPUSHARE_SHIM_ORIGIN_H
#define GPUSHARE_SHIM_ORIGIN_H

#include "device/driver/emu_export.h"

/* Is it in the program or in a shared library, as the dynamic linker has mapped them?  Otherwise it
 * is on the heap, a stack, or in what the program has mapped itself. */
int shim_is_in_object(const void *address);

/* What the emulated device offers; NULL: it is another driver. */
const struct gs_emu_export *shim_emulated(void);

#endif
