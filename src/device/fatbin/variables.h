/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much device memory an image says that its variables take.  Pure, as fatbin.h. */
#ifndef GPUSHARE_FATBIN_VARIABLES_H
#define GPUSHARE_FATBIN_VARIABLES_H

#include "device/fatbin/fatbin.h"

/* PTX: its .global and .const variables, those of other modules not. */
uint64_t gs_ptx_variables(const char *text, size_t len);

/*
 * A cubin: the sections that the driver gives device memory, which are its
 * variables, initialised and not, and its constants (a kernel's parameters are
 * no variable); with_code: its code as well.  0: not one.
 */
uint64_t gs_cubin_variables(const void *data, size_t len, int with_code);

/* An entry of a container, of PTX or of machine code, unpacked for this.  0, or -1: corrupt, or of
 * another kind. */
int gs_entry_variables(const struct gs_fatbin_entry *e, uint64_t *bytes, struct gs_error *err);

/* What of a container is loaded on a device of compute capability sm; 0: nothing of it. */
uint64_t gs_fatbin_variables(const struct gs_fatbin *fb, uint32_t sm);

#endif
