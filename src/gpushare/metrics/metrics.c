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
	if (active_ms <= 0 && turnaround_ms > 0)
		return 1 + turnaround_ms;
	return gs_ntt(turnaround_ms, active_ms);
}

double gs_antt(const double *ntt, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += ntt[i];
	return n ? sum / (double)n : 0;
}

double gs_stp(const double *ntt, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (ntt[i] > 0)
			sum += 1 / ntt[i];
	return sum;
}

double gs_dntt(const double *ntt, size_t n)
{
	double mean = gs_antt(ntt, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (ntt[i] - mean) * (ntt[i] - mean);
	return n ? sqrt(sum / (double)n) : 0;
}

double gs_jain(const double *x, const double *entitlement, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		double y = entitlement[i] > 0 ? x[i] / entitlement[i] : 0;

		sum += y;
		squares += y * y;
	}
	return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}

static double mean(const struct gs_sums *s)
{
	return s->n ? s->ntt / (double)s->n : 0;
}

void gs_sums_add(struct gs_sums *s, double ntt, double shares)
{
	double progress = ntt > 0 ? 1 / ntt : 0;
	double part = shares > 0 ? progress / shares : 0;

	s->n++;
	s->ntt += ntt;
	s->stp += progress;
	s->part += part;
	s->squares += part * part;
}

void gs_sums_deviate(struct gs_sums *s, double ntt)
{
	s->deviations += (ntt - mean(s)) * (ntt - mean(s));
}

void gs_sums_sharing(const struct gs_sums *s, struct gs_sharing *sharing)
{
	*sharing = (struct gs_sharing){
		.antt = mean(s),
		.dntt = s->n ? sqrt(s->deviations / (double)s->n) : 0,
		.stp = s->stp,
		.jain = s->squares > 0 ? s->part * s->part / ((double)s->n * s->squares) : 1,
	};
}

void gs_sharing(const double *ntt, const double *shares, size_t n, struct gs_sharing *sharing)
{
	struct gs_sums sums = { 0 };

	for (size_t i = 0; i < n; i++)
		gs_sums_add(&sums, ntt[i], shares[i]);
	for (size_t i = 0; i < n; i++)
		gs_sums_deviate(&sums, ntt[i]);
	gs_sums_sharing(&sums, sharing);
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
