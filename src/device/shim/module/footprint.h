/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device memory that a module takes. */
#ifndef GPUSHARE_SHIM_FOOTPRINT_H
#define GPUSHARE_SHIM_FOOTPRINT_H

#include "device/shim/base/shim.h"

/* Around a module's load: charges its variables, and a cubin's code, for an image in memory or a
 * file that has been read (image.h). -1: beyond the reservation. */
struct shim_file;
int shim_module_charge(const void *image, uint64_t *bytes);
int shim_module_charge_file(const struct shim_file *file, uint64_t *bytes);
/* The load's result. module: its handle if it succeeded. ctx: the charge goes with that context;
 * NULL: a library. */
void shim_module_charged(CUresult rc, const void *module, uint64_t bytes, CUcontext ctx);

#endif
