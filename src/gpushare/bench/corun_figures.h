/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-bench corun computes. */
#ifndef GPUSHARE_BENCH_CORUN_FIGURES_H
#define GPUSHARE_BENCH_CORUN_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/bench/page.h"

/* How two kernels share the GPU. */
enum corun_way {
	CORUN_SLICES,    /* two programs, the driver's time slices */
	CORUN_LEFT_OVER, /* one program, as written: blocks go where there is room */
	CORUN_SPART,     /* each on multiprocessors of its own */
	CORUN_BLOCKS,    /* on all multiprocessors, a number of workers for each: SMK's partition */
	CORUN_WAYS,
};

/* "slices" and so on. */
const char *corun_way_name(enum corun_way way);

/* What two kernels get: rates divided by those that each has alone, as written. */
struct corun_figures {
	double progress[2];
	double stp;  /* the sum (Eyerman and Eeckhout, as SMK has it) */
	double antt; /* the mean of what each takes longer; 0: one of them had no progress */
	double fair; /* the smaller progress by the larger */
};
struct corun_figures corun_figures(const double rate[2], const double alone[2]);

/* Launches per second that did something, of a kernel that was launched again and again; 0: fewer
 * than two ended. */
double corun_rate(const struct bench_corun *is);

/* Of `sms` multiprocessors the first kernel gets the first `eighths` eighths, but each has at least
 * one: where the second one's begin. */
uint32_t corun_border(uint32_t sms, uint32_t eighths);

#endif
