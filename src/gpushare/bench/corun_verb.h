/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of gpushare-bench corun. */
#ifndef GPUSHARE_BENCH_CORUN_VERB_H
#define GPUSHARE_BENCH_CORUN_VERB_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/corun_figures.h"
#include "gpushare/bench/workers.h"

#define CORUN_KERNELS_MAX 16
#define CORUN_PAIRS_MAX (CORUN_KERNELS_MAX * (CORUN_KERNELS_MAX - 1) / 2)
#define CORUN_ROWS_MAX (16 * CORUN_PAIRS_MAX)

struct corun_kernel {
	size_t number; /* in the suite */
	const char *name;
	uint64_t q, ns;         /* its size, and about what a launch takes alone */
	uint32_t refused, fits; /* as in struct bench_corun */
	uint32_t registers, shared, threads;
	double alone;   /* launches a second, as written */
	double workers; /* as workers that fill the GPU */
	double half;    /* as workers on half of the multiprocessors */
};

struct corun_pair {
	const struct corun_kernel *of[2];
};

struct corun_row {
	struct corun_pair pair;
	enum corun_way way;
	uint32_t sms[2];     /* the multiprocessors that each may use */
	uint32_t workers[2]; /* on each of them; 0: as written */
	uint64_t empty;      /* launches of which no worker was where it might stay */
	struct corun_figures is;
};

struct corun {
	struct bench_common common;
	const char *folder, *only;
	uint64_t length_ns, span_ns;
	uint32_t limit_s;

	struct bench_workers workers; /* two programs, without gpushare */
	FILE *csv;
	uint32_t sms;
	uint64_t longest_ns; /* of the kernels that are launched now */
	struct corun_kernel kernel[CORUN_KERNELS_MAX];
	size_t kernels;
	struct corun_row *row; /* CORUN_ROWS_MAX */
	size_t rows;
	size_t left_out; /* pairs */
};

/* The kernels with their times alone, and the heading of the pairs. */
void corun_print_kernels(const struct corun *c);

/* The rows of a pair, which are the last ones from `first` on. */
void corun_print_pair(const struct corun *c, size_t first);

/* The means over all pairs, and by class. */
void corun_print_means(const struct corun *c);

#endif
