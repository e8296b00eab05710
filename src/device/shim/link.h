/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linking at run time: PTX goes to the driver's linker with its variants, and
 * what comes out is machine code in which only their names are left.  So the
 * linked image is remembered, with what is known of its kernels.
 */
#ifndef GPUSHARE_SHIM_LINK_H
#define GPUSHARE_SHIM_LINK_H

#include "device/ptx/transform.h"

/* This image, or the one that it is a copy of, was linked here: its kernels, with no text; the
 * caller's.  NULL: it was not. */
struct ptx_transformed *shim_link_description(const void *image);

/* In a forked child: no link of its parent's is under way. */
void shim_links_forked(void);

#endif
