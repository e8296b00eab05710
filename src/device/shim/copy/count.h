/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies are counted in the client's page (gs_copies): some additions to one cache line, and for
 * copies that wait for their end two looks at the clock.
 */
#ifndef GPUSHARE_SHIM_COPY_COUNT_H
#define GPUSHARE_SHIM_COPY_COUNT_H

#include "gpushare/proto/page.h"
#include "device/shim/base/shim.h"

/* The way of a copy between two addresses of which the call does not say what they are: of small
 * ones the driver is not asked, and they are OTHER. */
enum gs_copy_direction shim_copy_between(CUdeviceptr dst, CUdeviceptr src, size_t bytes);

/* The way of a copy in two or three dimensions, and its bytes. */
enum gs_copy_direction shim_copy_of_plane(const CUDA_MEMCPY2D *copy);
enum gs_copy_direction shim_copy_of_box(const CUDA_MEMCPY3D *copy);
size_t shim_copy_plane_bytes(const CUDA_MEMCPY2D *copy);
size_t shim_copy_box_bytes(const CUDA_MEMCPY3D *copy);

/* A copy was made.  since_ns: its caller has waited for its end since then (gs_clock_ns()); 0: it
 * has not. */
void shim_copy_count(enum gs_copy_direction way, size_t bytes, uint64_t since_ns);

/* So many copies and bytes each way, which a graph makes in each launch; and it was launched. */
struct shim_copy_sum {
	uint64_t copies[GS_COPY_DIRECTIONS], bytes[GS_COPY_DIRECTIONS];
};
void shim_copy_count_sum(const struct shim_copy_sum *sum);

#endif
