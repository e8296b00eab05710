/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics against values worked out by hand. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/metrics/metrics.h"

static void near(double got, double want)
{
	if (got < want - 1e-9 || got > want + 1e-9)
		fail_msg("%.12f instead of %.12f", got, want);
}

static void slowdowns(void **state)
{
	const double ntt[] = { 1, 2, 4, 5 };

	(void)state;
	near(gs_ntt(30, 12), 2.5);
	near(gs_ntt(30, 0), 0);
	near(gs_ntt_so_far(30, 12), 2.5);
	assert_true(isnan(gs_ntt_so_far(0, 0)));  /* it has not wanted the GPU */
	assert_true(isnan(gs_ntt_so_far(30, 0))); /* it waits, and has no slowdown yet */
	near(gs_ntt_so_far(31, 1), 31);
	near(gs_antt(ntt, 4), 3);
	near(gs_dntt(ntt, 4), 1.5811388300841898); /* sqrt(10/4): of the population */
	near(gs_antt(ntt, 0), 0);
	near(gs_dntt(ntt, 0), 0);
	near(gs_dntt(ntt, 1), 0);
}

static double jain(const double *ntt, const double *shares, size_t n)
{
	struct gs_sharing s;

	gs_sharing(ntt, shares, n, &s);
	return s.jain;
}

static void fairness(void **state)
{
	const double even[] = { 3, 3, 3, 3 }, one[] = { 7, NAN, NAN, NAN };
	const double entitled[] = { 1, 1, 1, 1 }, shares[] = { 50, 25, 25, 0 };
	const double fair[] = { 2, 4, 4, NAN };

	(void)state;
	near(jain(even, entitled, 4), 1);
	near(jain(one, entitled, 4), 0.25);
	near(jain(fair, shares, 3), 1);
	near(jain(fair, entitled, 3), 16.0 / 18);
	near(jain(even, entitled, 0), 1);
	near(jain(fair + 3, shares + 3, 1), 1);
}

static void sharing(void **state)
{
	const double ntt[] = { 2, 4 }, shares[] = { 50, 25 };
	struct gs_sharing s;

	(void)state;
	gs_sharing(ntt, shares, 2, &s);
	near(s.antt, 3);
	near(s.dntt, 1);
	near(s.stp, 0.75);
	near(s.jain, 1); /* half the shares, half the progress */
	gs_sharing(ntt, shares, 0, &s);
	near(s.antt, 0);
	near(s.jain, 1);
}

/* Who was never served is in no mean of slowdowns, but its starving is unfair. */
static void starving(void **state)
{
	const double ntt[] = { 2, NAN, 4, NAN }, shares[] = { 25, 25, 25, 25 };
	struct gs_sharing s;

	(void)state;
	gs_sharing(ntt, shares, 4, &s);
	near(s.antt, 3);
	near(s.dntt, 1);
	near(s.stp, 0.75);
	near(s.jain, 0.75 * 0.75 / (4 * (0.25 + 0.0625)));
	assert_int_equal(s.served, 2);
	assert_int_equal(s.unserved, 2);
	gs_sharing(ntt + 1, shares, 1, &s);
	near(s.antt, 0);
	near(s.dntt, 0);
	near(s.stp, 0);
}

static void quantiles(void **state)
{
	double v[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5, 10 };

	(void)state;
	near(gs_quantile(v, 10, 0.5), 5);
	near(v[0], 1);
	near(gs_quantile(v, 10, 0.99), 10);
	near(gs_quantile(v, 10, 0.9), 9);
	near(gs_quantile(v, 10, 0), 1);
	near(gs_quantile(v, 10, 1), 10);
	near(gs_quantile(v, 10, 5), 10);
	near(gs_quantile(v, 10, -1), 1);
	near(gs_quantile(v, 0, 0.5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slowdowns), cmocka_unit_test(fairness),  cmocka_unit_test(sharing),
		cmocka_unit_test(starving),  cmocka_unit_test(quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
