/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dividing a GPU among kernels that run beside each other so that all make the same progress. A
 * kernel that waits for memory mostly needs only a small part for nearly all of its speed, so the
 * others can have more; how much shows only while they run. Pure: nothing is kept.
 */
#ifndef GPUSHARE_BALANCE_H
#define GPUSHARE_BALANCE_H

#include <stddef.h>
#include <stdint.h>

/* The GPU, in parts; a kernel that runs beside others has at least GS_BALANCE_LEAST of them. */
#define GS_BALANCE_PARTS 1024
#define GS_BALANCE_LEAST 32

struct gs_balance {
	uint32_t shares; /* at least 1: its progress should be in proportion to them */
	uint32_t parts;  /* of GS_BALANCE_PARTS */
	/* What it did in a time, as a part of what it does alone on the GPU: 1 is as much. */
	double progress;
};

/* Divides all parts by the shares, for a start. n: 1 to GS_BALANCE_PARTS / GS_BALANCE_LEAST. */
void gs_balance_start(struct gs_balance *of, size_t n);

/*
 * They have made this progress with their parts: changes the parts towards equal progress per
 * share. Returns 1; 0, and nothing is changed, if the progress is equal enough, or if what would
 * change is too little to disturb them for it.
 */
int gs_balance_step(struct gs_balance *of, size_t n);

/* The sum of their progress. More than 1 is more than turns can give. */
double gs_balance_sum(const struct gs_balance *of, size_t n);

/* Fairness: the least progress per share by the most. 1: it is even; 0: one of them made none. */
double gs_balance_fairness(const struct gs_balance *of, size_t n);

#endif
