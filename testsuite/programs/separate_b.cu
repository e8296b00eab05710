/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other half of separate_a.cu. */
#include "common.cuh"

__device__ uint32_t shared_table[16] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225 };

__device__ uint32_t shared_step(uint32_t x)
{
	return mix(x * 3 + 1);
}
