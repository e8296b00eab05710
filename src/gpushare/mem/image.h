/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a compiled file tells of the memory that it needs: its modules' variables, and no more. */
#ifndef GPUSHARE_MEM_IMAGE_H
#define GPUSHARE_MEM_IMAGE_H

#include "gpushare/mem/estimate.h"

/*
 * PTX, a fatbin, a cubin, or a program or library, whose modules are looked at and whose
 * allocations are not known; nor is anything of another file that is no text.  1: taken; 0: a text,
 * as source is; -1: not to be read.
 */
int mem_image(const char *path, struct mem_estimate *estimate, struct gs_error *err);

#endif
