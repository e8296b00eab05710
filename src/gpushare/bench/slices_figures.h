/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What gpushare-bench slices computes: how many blocks a slice gets, in which order the ways of
 * launching are timed, and what a kernel's times say.
 */
#ifndef GPUSHARE_BENCH_SLICES_FIGURES_H
#define GPUSHARE_BENCH_SLICES_FIGURES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpushare/bench/page.h"

/* A slice may exceed its target by this part of it. */
#define SLICES_TOLERANCE 0.1
#define SLICES_RUNS_MAX 99

/*
 * Finds the number of blocks with which a slice meets its target. Below a wave, fewer blocks do not
 * shorten a slice in proportion, so what was tried is corrected until it fits.
 */
struct slices_search {
	uint64_t grid, wave; /* block-tasks of the kernel; blocks that the device holds at once */
	double target_ns;
	uint64_t blocks;  /* to be tried next */
	uint64_t met;     /* of those that met the target, the most work per time; 0: none did */
	double met_ns;    /* what such a slice took */
	uint64_t longest; /* the largest number that met it */
	uint64_t over;    /* the smallest number that did not; grid + 1: all met it */
	unsigned tries;
};

/*
 * Begin with what a kernel as written and a slice of one block take. Returns 1, or 0 if one block
 * alone exceeds the target: no slice can meet it, and `blocks` is a wave then, since fewer blocks
 * would only leave places of the device empty.
 */
int slices_begin(struct slices_search *search, double written_ns, double block_ns);

/* A slice of `blocks` took so long. Returns 1 if `blocks` is a number to be tried now; 0 if `met`
 * is what to take. */
int slices_tried(struct slices_search *search, double ns);

/* How many slices a grid has. */
uint64_t slices_count(uint64_t grid, uint64_t blocks);

/*
 * Which way of launching has that place in that round: after BENCH_SLICES_WAYS rounds each has had
 * each place once, and has followed each other way once.
 */
enum bench_slices_way slices_way_in(uint32_t round, uint32_t place);

/* One kernel at one target. */
struct slices_row {
	const char *kernel;
	double target_ns;
	uint64_t blocks, slices;
	double slice_ns;                  /* the median; 0: not measured */
	double way_ns[BENCH_SLICES_WAYS]; /* medians; 0: not measured */
	int measured, unreachable;
	int right; /* the results are those of the kernel as written */
	char note[160];
};

/* What a way takes, of the kernel's time as written; 0: not measured. */
double slices_ratio(const struct slices_row *row, enum bench_slices_way way);

/* The rows of a target whose results are right, that can meet it and have more than one slice. */
struct slices_mean {
	size_t rows;
	double in_stream, with_check; /* geometric means of the ratios */
	double worst;                 /* the largest with_check */
	const char *kernel;           /* the kernel that has it */
};
struct slices_mean slices_mean(const struct slices_row *rows, size_t count, double target_ns);

/* The median length of the slices of a launch in `samples`, ns. The last one, which has fewer
 * blocks where the grid is no multiple of a slice, counts only if it is alone. Sorts them. */
double slices_median(double *took, size_t samples, const struct slices_row *row);

#endif
