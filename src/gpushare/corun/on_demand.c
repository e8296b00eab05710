/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of all kernels over the whole GPU, one by one (SMK, 5.3.1); see corun.h. */
#include "gpushare/corun/corun.h"

#include <string.h>

struct gpu {
	const struct gs_corun_size *block, *sm;
	size_t n, sms;    /* the kernels that have come, and the multiprocessors */
	size_t columns;   /* of blocks: all kernels */
	uint32_t *blocks; /* of kernel k on multiprocessor m: blocks[m * columns + k] */
};

static uint32_t *at(const struct gpu *g, size_t m, size_t k)
{
	return &g->blocks[m * g->columns + k];
}

/* What all kernels but `without` (n: none) take of a multiprocessor; its share. */
static double share_of_sm(const struct gpu *g, size_t m, size_t without, struct gs_corun_size *sum)
{
	*sum = (struct gs_corun_size) { 0 };
	for (size_t k = 0; k < g->n; k++) {
		uint32_t b = k == without ? 0 : *at(g, m, k);

		sum->registers += b * g->block[k].registers;
		sum->shared += b * g->block[k].shared;
		sum->threads += b * g->block[k].threads;
		sum->blocks += b;
	}
	/* As if it were one block; the number of blocks is a resource of its own. */
	double all = gs_corun_share(sum, sum->blocks ? 1 : 0, g->sm);
	double places = (double)sum->blocks / g->sm->blocks;

	return all > places ? all : places;
}

static int fits(const struct gpu *g, size_t m, size_t k)
{
	struct gs_corun_size sum;

	share_of_sm(g, m, g->n, &sum);
	return sum.registers + g->block[k].registers <= g->sm->registers &&
	       sum.shared + g->block[k].shared <= g->sm->shared &&
	       sum.threads + g->block[k].threads <= g->sm->threads && sum.blocks < g->sm->blocks;
}

/* A kernel's share of the GPU. */
static double share_of_kernel(const struct gpu *g, size_t k)
{
	double sum = 0;

	for (size_t m = 0; m < g->sms; m++)
		sum += gs_corun_share(&g->block[k], *at(g, m, k), g->sm);
	return sum / (double)g->sms;
}

/* How far apart the kernels' shares are; *least: whose is the smallest. */
static double range(const struct gpu *g, size_t *least)
{
	double low = 0, high = 0;

	for (size_t k = 0; k < g->n; k++) {
		double share = share_of_kernel(g, k);

		if (k == 0 || share < low) {
			low = share;
			*least = k;
		}
		if (share > high)
			high = share;
	}
	return high - low;
}

/* The multiprocessor with the smallest share, or with the largest but for what `without` has. */
static size_t choose_sm(const struct gpu *g, int largest, size_t without)
{
	struct gs_corun_size sum;
	double best = 0;
	size_t chosen = 0;

	for (size_t m = 0; m < g->sms; m++) {
		double share = share_of_sm(g, m, without, &sum);

		if (m == 0 || (largest ? share > best : share < best)) {
			best = share;
			chosen = m;
		}
	}
	return chosen;
}

/* Of the other kernels with blocks there, the one with the largest share of the GPU; n: none. */
static size_t victim_on(const struct gpu *g, size_t m, size_t k)
{
	size_t victim = g->n;

	for (size_t v = 0; v < g->n; v++)
		if (v != k && *at(g, m, v) &&
		    (victim == g->n || share_of_kernel(g, v) > share_of_kernel(g, victim)))
			victim = v;
	return victim;
}

/* Takes blocks of others away for one of k's, if the shares come closer by it; 1: done. */
static int replace(struct gpu *g, size_t k, double apart)
{
	size_t m = choose_sm(g, 1, k), victim, least;
	uint32_t had[GS_CORUN_MAX];

	memcpy(had, at(g, m, 0), g->n * sizeof(*had));
	while (!fits(g, m, k) && (victim = victim_on(g, m, k)) < g->n)
		--*at(g, m, victim);
	if (fits(g, m, k)) {
		++*at(g, m, k);
		if (range(g, &least) < apart)
			return 1;
	}
	memcpy(at(g, m, 0), had, g->n * sizeof(*had));
	return 0;
}

/* One block more for the kernel with the smallest share; 0: none can be had. */
static int dispatch(struct gpu *g)
{
	size_t k = 0, m;
	double apart = range(g, &k);

	m = choose_sm(g, 0, g->n);
	if (fits(g, m, k)) {
		++*at(g, m, k);
		return 1;
	}
	return replace(g, k, apart);
}

void gs_corun_on_demand(const struct gs_corun_size *block, size_t n, const struct gs_corun_size *sm,
			size_t sms, uint32_t *blocks)
{
	struct gpu g = { block, sm, 0, sms, n, blocks };

	memset(blocks, 0, sms * n * sizeof(*blocks));
	for (g.n = 1; g.n <= n; g.n++)
		/* What is freed for one may let another in, whose share then grows too far: so many
		 * blocks are enough for each to have been placed a few times. */
		for (size_t left = 4 * sms * sm->blocks; left && dispatch(&g); left--)
			;
}
