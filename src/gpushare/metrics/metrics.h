/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics, each defined once (FRS, section V; Jain's index over
 * entitlement).  Pure code.  Times in any one unit.
 *
 * Of a task, which is the simulator's kernel, or online a client's busy period (their sums are its
 * step's figures):
 *
 *   turnaround   from the arrival, online the first launch request, to the end
 *   alone        what it takes without others: known in the simulator. Online the time with the GPU
 *                while it had work for it stands for it; of time that several steps share, each has
 *                its part (arbiter/usage.h)
 *   waiting      turnaround - alone
 *   preemptions  how often it left the GPU with block-tasks remaining
 *   eviction     from the order to leave until the GPU was free; reported are p50 and p99,
 *                gs_quantile() of the latest 512
 *
 * Over several rounds the simulator tells DNTT in two ways: dntt, the mean of the rounds' own, and
 * dntt_avg, that of the NTTs that were averaged over the rounds first (FRS, section VI-C); ANTT,
 * STP and Jain's index are of the averaged.
 */
#ifndef GPUSHARE_METRICS_METRICS_H
#define GPUSHARE_METRICS_METRICS_H

#include <stddef.h>

/* NTT = turnaround / alone time (equation 3); 0 when alone is 0. */
double gs_ntt(double turnaround, double alone);

/*
 * NTT of a step that may not have had the GPU yet, in ms: turnaround / active.
 * At least 1, though a program's time with the GPU may be booked before all of its busy period is.
 * NaN: it was never served, so it has a waiting time at most, and no slowdown.
 */
double gs_ntt_so_far(double turnaround_ms, double active_ms);

/* ANTT: mean of n NTTs (equation 4); 0 for n = 0. */
double gs_antt(const double *ntt, size_t n);

/* DNTT: standard deviation of the NTTs over the population (equation 6). */
double gs_dntt(const double *ntt, size_t n);

/*
 * ANTT, DNTT, STP (the sum of 1 / NTT, equation 5) and Jain's index (of 1 / NTT by entitlement: 1
 * is fair, 1/n is one taking all) of those who share a GPU, and of how many they are.
 */
struct gs_sharing {
	double antt, dntt, stp, jain;
	unsigned served, unserved;
};

/*
 * From n NTTs and entitlements (shares).  An NTT that is NaN or 0 is that of somebody who was never
 * served: ANTT and DNTT are of the others, while STP and Jain's index, which are of the progress
 * 1/NTT, count it as no progress.  So starving somebody is unfair, and no mean is made of a number
 * that nobody measured.
 */
void gs_sharing(const double *ntt, const double *shares, size_t n, struct gs_sharing *sharing);

/*
 * The q-quantile (0..1) of n values by the nearest-rank method; sorts the
 * array in place; 0 for n = 0.
 */
double gs_quantile(double *values, size_t n, double q);

#endif
