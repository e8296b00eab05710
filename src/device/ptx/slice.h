/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One launch of a sliced kernel: a range of the original grid's block-tasks
 * (GPES, section IV-A).  The host launches the variant with as many blocks
 * as the range is long, in one dimension, range after range; between two of
 * them the GPU may be another's.
 *
 * The transformed entry has one parameter more than the original, the last: a
 * struct gs_slice by value, at the kernel's ctl_offset.  Block i of the launch
 * runs block-task base + i, counted along x first, then y, then z.
 */
#ifndef GPUSHARE_PTX_SLICE_H
#define GPUSHARE_PTX_SLICE_H

#include <stddef.h>
#include <stdint.h>

struct gs_slice {
	uint32_t base[3];   /* x, y, z of the first block-task */
	uint32_t nctaid[3]; /* the original grid */
};

_Static_assert(sizeof(struct gs_slice) == 24, "GPU layout");
_Static_assert(offsetof(struct gs_slice, nctaid) == 12, "GPU layout");

/* The slice that begins with block-task `base`, below nx * ny * nz, of a grid; none of nx, ny, nz
 * is 0. */
static inline struct gs_slice gs_slice_at(uint64_t base, uint32_t nx, uint32_t ny, uint32_t nz)
{
	struct gs_slice s = { { (uint32_t)(base % nx), (uint32_t)(base / nx % ny),
				(uint32_t)(base / nx / ny) },
			      { nx, ny, nz } };

	return s;
}

#endif
