/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums and products of what others say, which may be any number: they stay at UINT64_MAX instead
 * of beginning at 0 again.
 */
#ifndef GPUSHARE_COMMON_SATURATE_H
#define GPUSHARE_COMMON_SATURATE_H

#include <stdint.h>

static inline uint64_t gs_add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t gs_multiply_saturated(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
