/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kernels gpushare-bench corun runs beside each other, and how it divides a GPU among them.
 */
#ifndef GPUSHARE_BENCH_CORUN_GROUPS_H
#define GPUSHARE_BENCH_CORUN_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Groups of `size` of `kernels` kernels (at most 16), each once, as sets of bits: into
 * group[count]. If there are no more than `count` they are all of them, in order, otherwise `count`
 * by a random choice that depends on the seed alone. Returns how many; 0: there is no such group,
 * or no memory.
 */
size_t corun_choose_groups(uint32_t kernels, uint32_t size, uint32_t seed, uint16_t *group,
			   size_t count);

/* The number of such groups that there are. */
size_t corun_groups(uint32_t kernels, uint32_t size);

#define CORUN_EIGHTHS 8

/* The first of all ways to divide eight eighths among n (2 to 8), each of which gets at least one;
 * then the next one. Returns 0 if there is none any more. */
void corun_first_split(uint32_t *eighths, uint32_t n);
int corun_next_split(uint32_t *eighths, uint32_t n);

#endif
