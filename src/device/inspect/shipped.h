/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variants that a program carries already, since gpushare-nvcc has built it: they are no kernels of
 * its own. */
#ifndef GPUSHARE_INSPECT_SHIPPED_H
#define GPUSHARE_INSPECT_SHIPPED_H

#include <jansson.h>
#include <stdint.h>

/*
 * Take the variants out of the kernels (an object by name), and note each in its kernel's list
 * "shipped". A kernel that stays as it is otherwise gets the transform of one that the shim would
 * launch: persistent, else guarded, with machine code for sm (0: for any).
 */
void shipped_fold(json_t *kernels, uint32_t sm);

#endif
