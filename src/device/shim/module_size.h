/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much device memory a module's image says it takes.  Pure. */
#ifndef GPUSHARE_SHIM_MODULE_SIZE_H
#define GPUSHARE_SHIM_MODULE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* The module's .global and .const variables, those of other modules not; bytes. */
uint64_t shim_ptx_variable_bytes(const char *text, size_t len);

/* The sections of a cubin that are loaded; 0: not one. */
uint64_t shim_cubin_bytes(const void *image, size_t len);

#endif
