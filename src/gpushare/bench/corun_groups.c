/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of kernels, and divisions of a GPU; see corun_groups.h. */
#define _GNU_SOURCE
#include "gpushare/bench/corun_groups.h"

#include <stdlib.h>

size_t corun_groups(uint32_t kernels, uint32_t size)
{
	size_t n = 0;

	for (uint32_t set = 0; set < 1u << kernels; set++)
		n += (uint32_t)__builtin_popcount(set) == size;
	return n;
}

/* The set's bits, the first kernel's first, so that the groups come in the kernels' order. */
static uint16_t mirrored(uint32_t set, uint32_t kernels)
{
	uint16_t to = 0;

	for (uint32_t i = 0; i < kernels; i++)
		if (set >> i & 1)
			to |= (uint16_t)(1u << (kernels - 1 - i));
	return to;
}

size_t corun_choose_groups(uint32_t kernels, uint32_t size, uint32_t seed, uint16_t *group,
			   size_t count)
{
	unsigned short state[3] = { (unsigned short)seed, (unsigned short)(seed >> 16), 0x330e };
	size_t all = corun_groups(kernels, size), n = 0;
	uint16_t *set = all ? malloc(all * sizeof(*set)) : NULL;

	if (!set)
		return 0;
	for (uint32_t bits = 1u << kernels; bits-- > 0;)
		if ((uint32_t)__builtin_popcount(bits) == size)
			set[n++] = mirrored(bits, kernels);
	if (count > all)
		count = all;
	for (size_t i = 0; i < count; i++) {
		size_t other = count < all ? i + (size_t)nrand48(state) % (all - i) : i;
		uint16_t chosen = set[other];

		set[other] = set[i];
		group[i] = set[i] = chosen;
	}
	free(set);
	return count;
}

void corun_first_split(uint32_t *eighths, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < n; i++)
		eighths[i] = 1;
	eighths[n - 1] = CORUN_EIGHTHS - (n - 1);
}

int corun_next_split(uint32_t *eighths, uint32_t n)
{
	uint32_t left = eighths[n - 1];

	/* The last one that can have one more, as those behind it have more than one each. */
	for (uint32_t i = n - 1; i-- > 0; left += eighths[i]) {
		uint32_t behind = n - 1 - i;

		if (left == behind)
			continue;
		eighths[i]++;
		for (uint32_t k = i + 1; k + 1 < n; k++)
			eighths[k] = 1;
		eighths[n - 1] = left - 1 - (behind - 1);
		return 1;
	}
	return 0;
}
