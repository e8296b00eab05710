/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of each multiprocessor, whole multiprocessors, and quotas; see corun.h. */
#include "gpushare/corun/corun.h"

#include <string.h>

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* 0 of 0 is nothing. */
static double part(double taken, double limit)
{
	return taken > 0 ? taken / limit : 0;
}

double gs_corun_share(const struct gs_corun_size *block, uint32_t blocks,
		      const struct gs_corun_size *sm)
{
	double n = blocks;

	return larger(larger(part(n * block->registers, sm->registers),
			     part(n * block->shared, sm->shared)),
		      larger(part(n * block->threads, sm->threads), part(n, sm->blocks)));
}

/* Takes a block's place; 0, or -1: it is not there. */
static int take(struct gs_corun_size *left, const struct gs_corun_size *block)
{
	if (block->registers > left->registers || block->shared > left->shared ||
	    block->threads > left->threads || !left->blocks)
		return -1;
	left->registers -= block->registers;
	left->shared -= block->shared;
	left->threads -= block->threads;
	left->blocks--;
	return 0;
}

uint32_t gs_corun_fit(const struct gs_corun_size *block, const struct gs_corun_size *sm)
{
	struct gs_corun_size left = *sm;
	uint32_t n = 0;

	while (take(&left, block) == 0)
		n++;
	return n;
}

/* Shares that should be equal differ in their last digits. */
#define EQUAL 1e-9

/* Of those that may go on the one with the smallest share, of equal ones the one whose share a
 * block raises the least; n: none. */
static size_t smallest(const double *share, const double *step, const int *full, size_t n)
{
	size_t least = n;

	for (size_t k = 0; k < n; k++)
		if (!full[k] &&
		    (least == n || share[k] < share[least] - EQUAL ||
		     (share[k] < share[least] + EQUAL && step[k] < step[least] - EQUAL)))
			least = k;
	return least;
}

void gs_corun_partition(const struct gs_corun_size *block, size_t n, const struct gs_corun_size *sm,
			uint32_t *blocks)
{
	struct gs_corun_size left = *sm;
	double share[GS_CORUN_MAX] = { 0 }, step[GS_CORUN_MAX];
	int full[GS_CORUN_MAX] = { 0 };
	size_t k;

	memset(blocks, 0, n * sizeof(*blocks));
	for (k = 0; k < n; k++)
		step[k] = gs_corun_share(&block[k], 1, sm);
	while ((k = smallest(share, step, full, n)) < n) {
		if (take(&left, &block[k]) < 0) {
			full[k] = 1;
			continue;
		}
		blocks[k]++;
		share[k] = gs_corun_share(&block[k], blocks[k], sm);
	}
}

void gs_corun_spart(size_t n, size_t sms, size_t *parts)
{
	for (size_t k = 0; k < n; k++)
		parts[k] = sms / n + (k < sms % n);
}

void gs_corun_quotas(const struct gs_corun_alone *alone, const uint32_t *blocks, size_t n,
		     double *quota)
{
	double sum = 0;

	for (size_t k = 0; k < n; k++) {
		quota[k] = alone[k].blocks ? alone[k].issue * blocks[k] / alone[k].blocks : 0;
		sum += quota[k];
	}
	for (size_t k = 0; k < n && sum > 0; k++)
		quota[k] /= sum;
}
