/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of a slice, the order of the ways, and ratios; see slices_figures.h. */
#define _GNU_SOURCE
#include "gpushare/bench/slices_figures.h"

#include <math.h>

#include "gpushare/metrics/metrics.h"

/* The first guess and its corrections.  On the way to less than a wave they halve what is left. */
#define TRIES 6

uint64_t slices_count(uint64_t grid, uint64_t blocks)
{
	return grid / blocks + (grid % blocks != 0);
}

static uint64_t within(const struct slices_search *s, double blocks)
{
	return blocks < 1 ? 1 : blocks > (double)s->grid ? s->grid : (uint64_t)blocks;
}

/*
 * The next whole number of waves, since part of a wave takes the time of a whole one; as it is
 * where that is much less than one.
 */
static uint64_t in_waves(const struct slices_search *s, double blocks)
{
	double waves = round(blocks / (double)s->wave);

	if (blocks < 0.75 * (double)s->wave)
		return within(s, blocks);
	return within(s, (waves < 1 ? 1 : waves) * (double)s->wave);
}

int slices_begin(struct slices_search *s, double written_ns, double block_ns)
{
	if (s->wave < 1 || s->wave > s->grid)
		s->wave = s->grid;
	s->tries = 0;
	s->over = s->grid + 1;
	s->met = s->longest = 0;
	s->met_ns = 0;
	if (block_ns > s->target_ns * (1 + SLICES_TOLERANCE)) {
		s->blocks = s->wave;
		return 0;
	}
	s->met = s->longest = 1;
	s->met_ns = block_ns;
	s->blocks = in_waves(s, (double)s->grid * s->target_ns / written_ns);
	return 1;
}

/* In proportion to what was measured, but between what is known to meet the target and what is
 * not. */
static uint64_t corrected(const struct slices_search *s, double ns)
{
	double want = (double)s->blocks * s->target_ns / ns;
	uint64_t n = in_waves(s, want);

	if (n == s->blocks)
		n = within(s, want);
	if (n <= s->longest || n >= s->over)
		n = s->longest + (s->over - s->longest) / 2;
	return n;
}

int slices_tried(struct slices_search *s, double ns)
{
	int meets = ns <= s->target_ns * (1 + SLICES_TOLERANCE);

	if (meets) {
		if ((double)s->blocks * s->met_ns >= (double)s->met * ns) {
			s->met = s->blocks;
			s->met_ns = ns;
		}
		if (s->blocks > s->longest)
			s->longest = s->blocks;
	} else if (s->blocks < s->over) {
		s->over = s->blocks;
	}
	if ((meets && ns >= s->target_ns * (1 - SLICES_TOLERANCE)) || ++s->tries == TRIES ||
	    s->longest == s->grid || s->over - s->longest <= 1)
		return 0;
	s->blocks = corrected(s, ns);
	return 1;
}

/*
 * A Latin square in which each way follows each other one once (Williams); it exists for even
 * numbers of ways.
 */
enum bench_slices_way slices_way_in(uint32_t round, uint32_t place)
{
	static const uint8_t first[BENCH_SLICES_WAYS] = { 0, 1, 3, 2 };

	return (enum bench_slices_way)((first[place] + round) % BENCH_SLICES_WAYS);
}

double slices_ratio(const struct slices_row *r, enum bench_slices_way way)
{
	double written = r->way_ns[BENCH_AS_WRITTEN];

	return written > 0 ? r->way_ns[way] / written : 0;
}

struct slices_mean slices_mean(const struct slices_row *row, size_t count, double target_ns)
{
	struct slices_mean mean = { 0 };
	double stream = 0, check = 0;

	for (size_t i = 0; i < count; i++) {
		double ratio = slices_ratio(&row[i], BENCH_WITH_CHECK);

		if (row[i].target_ns != target_ns || !row[i].measured || !row[i].right ||
		    row[i].unreachable || row[i].slices < 2)
			continue;
		mean.rows++;
		stream += log(slices_ratio(&row[i], BENCH_IN_STREAM));
		check += log(ratio);
		if (ratio > mean.worst) {
			mean.worst = ratio;
			mean.kernel = row[i].kernel;
		}
	}
	if (mean.rows) {
		mean.in_stream = exp(stream / (double)mean.rows);
		mean.with_check = exp(check / (double)mean.rows);
	}
	return mean;
}

double slices_median(double *took, size_t samples, const struct slices_row *r)
{
	if (samples > 1 && samples == r->slices)
		samples--;
	return gs_quantile(took, samples, 0.5);
}
