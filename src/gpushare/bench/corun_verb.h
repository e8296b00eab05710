/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of gpushare-bench corun. */
#ifndef GPUSHARE_BENCH_CORUN_VERB_H
#define GPUSHARE_BENCH_CORUN_VERB_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/corun_figures.h"
#include "gpushare/bench/workers.h"

#define CORUN_KERNELS_MAX 16
#define CORUN_GROUPS_MAX 200
#define CORUN_GROUPS_USUAL 20 /* of three or four kernels */
/* Of four kernels eight eighths are divided in 35 ways. */
#define CORUN_ROWS_MAX (40 * CORUN_GROUPS_MAX)

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

struct corun_group {
	const struct corun_kernel *of[BENCH_CORUN_MAX];
	uint32_t n;
};

struct corun_row {
	size_t group; /* the rows of one have the same number */
	const struct corun_group *of;
	enum corun_way way;
	int equal;                         /* spart: as many multiprocessors for each */
	uint32_t sms[BENCH_CORUN_MAX];     /* the multiprocessors that each may use */
	uint32_t workers[BENCH_CORUN_MAX]; /* on each of them; 0: as written */
	uint64_t empty;                    /* launches of which no worker was where it might stay */
	struct corun_figures is;
};

struct corun {
	struct bench_common common;
	const char *folder, *only;
	uint64_t length_ns, span_ns;
	uint32_t limit_s;
	uint32_t size, count, seed; /* of the groups; count 0: the usual */

	struct bench_workers workers; /* `size` programs, without gpushare */
	FILE *csv;
	uint32_t sms;
	uint64_t longest_ns; /* of the kernels that are launched now */
	struct corun_kernel kernel[CORUN_KERNELS_MAX];
	size_t kernels;
	struct corun_group group[CORUN_GROUPS_MAX];
	size_t groups;
	size_t left_out;       /* of them */
	struct corun_row *row; /* CORUN_ROWS_MAX */
	size_t rows;
};

/* The kernels with their times alone, and the heading of the groups. */
void corun_print_kernels(const struct corun *c);

/* The rows of a group, which are the last ones from `first` on. */
void corun_print_group(const struct corun *c, size_t first);

/* The means over all groups, and by class. */
void corun_print_means(const struct corun *c);

#endif
