/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-bench corun computes. */
#ifndef GPUSHARE_BENCH_CORUN_FIGURES_H
#define GPUSHARE_BENCH_CORUN_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/bench/page.h"

/* How kernels share the GPU. */
enum corun_way {
	CORUN_SLICES,    /* a program each, the driver's time slices */
	CORUN_LEFT_OVER, /* one program, as written: blocks go where there is room */
	CORUN_SPART,     /* each on multiprocessors of its own */
	CORUN_BLOCKS,    /* on all multiprocessors, a number of workers for each: SMK's partition */
	CORUN_WAYS,
};

/* "slices" and so on. */
const char *corun_way_name(enum corun_way way);

/* What the kernels get: rates divided by those that each has alone, as written. */
struct corun_figures {
	double progress[BENCH_CORUN_MAX];
	double stp;  /* the sum (Eyerman and Eeckhout, as SMK has it) */
	double antt; /* the mean of what each takes longer; 0: one of them had no progress */
	double fair; /* the smallest progress by the largest */
};
/* Of n kernels, 2 to BENCH_CORUN_MAX. */
struct corun_figures corun_figures(const double *rate, const double *alone, uint32_t n);

/* Launches per second that did something, of a kernel that was launched again and again; 0: fewer
 * than two ended. */
double corun_rate(const struct bench_corun *is);

/* Of `sms` multiprocessors those before this one are the first `eighths` eighths; neither these nor
 * the others are none. */
uint32_t corun_border(uint32_t sms, uint32_t eighths);

#endif
