/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a module takes of device memory. */
#ifndef GPUSHARE_SHIM_FOOTPRINT_H
#define GPUSHARE_SHIM_FOOTPRINT_H

#include "device/shim/base/shim.h"

/*
 * Around a module's load: its variables, and a cubin's code; of an image in
 * memory, or of a file that has been read (image.h).  -1: beyond the reservation.
 */
struct shim_file;
int shim_module_charge(const void *image, uint64_t *bytes);
int shim_module_charge_file(const struct shim_file *file, uint64_t *bytes);
/* The load's result; module: its handle when it succeeded.  ctx: goes with that context; NULL: a
 * library. */
void shim_module_charged(CUresult rc, const void *module, uint64_t bytes, CUcontext ctx);

#endif
