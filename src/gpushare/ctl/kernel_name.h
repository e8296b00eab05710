/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of kernels as they stand in the source. */
#ifndef GPUSHARE_CTL_KERNEL_NAME_H
#define GPUSHARE_CTL_KERNEL_NAME_H

#include <stddef.h>

/*
 * "void gemm<float, 128>(float const*)" of "_Z4gemmIfLi128EEvPKf", to be freed; the name itself if
 * it is none of C++, or where libstdc++, which can tell, is not installed.  NULL: no memory.
 */
char *gs_kernel_name(const char *name);

/*
 * Shorten what gs_kernel_name() has returned, in place, until it takes at most `width` columns:
 * what is returned and taken goes first, then what stands between the outermost < >, then the
 * namespaces; what is still longer remains.
 */
void gs_kernel_name_shorten(char *name, size_t width);

#endif
