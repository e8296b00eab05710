/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NTT, ANTT, STP, DNTT, Jain's index and quantiles; see metrics.h. */
#include "gpushare/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>

double gs_ntt(double turnaround, double alone)
{
	return alone > 0 ? turnaround / alone : 0;
}

double gs_ntt_so_far(double turnaround_ms, double active_ms)
{
	return active_ms > 0 ? fmax(turnaround_ms / active_ms, 1) : NAN;
}

double gs_antt(const double *ntt, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += ntt[i];
	return n ? sum / (double)n : 0;
}

double gs_dntt(const double *ntt, size_t n)
{
	double mean = gs_antt(ntt, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (ntt[i] - mean) * (ntt[i] - mean);
	return n ? sqrt(sum / (double)n) : 0;
}

void gs_sharing(const double *ntt, const double *shares, size_t n, struct gs_sharing *sharing)
{
	double part = 0, squares = 0, sum = 0, off = 0;

	*sharing = (struct gs_sharing) { 0 };
	for (size_t i = 0; i < n; i++) {
		int served = ntt[i] > 0; /* false for NaN */
		double progress = served ? 1 / ntt[i] : 0;
		double one = shares[i] > 0 ? progress / shares[i] : 0;

		sum += served ? ntt[i] : 0;
		sharing->served += (unsigned)served;
		sharing->stp += progress;
		part += one;
		squares += one * one;
	}
	sharing->unserved = (unsigned)n - sharing->served;
	sharing->antt = sharing->served ? sum / sharing->served : 0;
	for (size_t i = 0; i < n; i++)
		if (ntt[i] > 0)
			off += (ntt[i] - sharing->antt) * (ntt[i] - sharing->antt);
	sharing->dntt = sharing->served ? sqrt(off / sharing->served) : 0;
	sharing->jain = squares > 0 ? part * part / ((double)n * squares) : 1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double gs_quantile(double *values, size_t n, double q)
{
	double rank;

	if (n == 0)
		return 0;
	qsort(values, n, sizeof(values[0]), by_value);
	rank = ceil(q * (double)n);
	if (!(rank >= 1))
		rank = 1;
	if (rank > (double)n)
		rank = (double)n;
	return values[(size_t)rank - 1];
}
