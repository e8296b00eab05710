/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dividing a GPU by progress; see balance.h. */
#include "gpushare/corun/balance.h"

#include <math.h>

/* Progress per share that differs by less than this part is equal. */
#define EQUAL_PART 0.08
/* A kernel whose speed grows with its part would be at its goal after one step with 1. A
 * lower power makes the steps smaller where measurements are uncertain. */
#define POWER 0.7
#define STEP_MOST 2.0
/* Nobody is disturbed for a change that is less than this part of what each one has. */
#define WORTH_PART 16

/* Makes the wanted parts into whole ones that are all parts together, none below the least. What
 * rounding leaves over goes to whoever has most, where it matters least. */
static void settle(struct gs_balance *of, const double *wanted, size_t n)
{
	uint32_t all = 0;
	double sum = 0;
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		sum += wanted[i];
	for (size_t i = 0; i < n; i++) {
		double parts = sum > 0 ? wanted[i] / sum * GS_BALANCE_PARTS : 0;

		of[i].parts = parts > GS_BALANCE_LEAST ? (uint32_t)parts : GS_BALANCE_LEAST;
		all += of[i].parts;
		if (of[i].parts > of[most].parts)
			most = i;
	}
	/* Those that were raised to the least can make the sum too large by no more than that. */
	of[most].parts = of[most].parts + GS_BALANCE_PARTS - all;
}

void gs_balance_start(struct gs_balance *of, size_t n)
{
	double wanted[GS_BALANCE_PARTS / GS_BALANCE_LEAST];

	for (size_t i = 0; i < n; i++)
		wanted[i] = of[i].shares;
	settle(of, wanted, n);
}

static double per_share(const struct gs_balance *of)
{
	return of->progress / of->shares;
}

int gs_balance_step(struct gs_balance *of, size_t n)
{
	double wanted[GS_BALANCE_PARTS / GS_BALANCE_LEAST], least = INFINITY, most = 0, mean = 0;
	struct gs_balance next[GS_BALANCE_PARTS / GS_BALANCE_LEAST];
	int worth = 0;

	for (size_t i = 0; i < n; i++) {
		double is = per_share(&of[i]);

		least = is < least ? is : least;
		most = is > most ? is : most;
		mean += is / (double)n;
	}
	if (!(most > 0) || least >= most * (1 - EQUAL_PART))
		return 0;
	for (size_t i = 0; i < n; i++) {
		double is = per_share(&of[i]);
		double times = is > 0 ? pow(mean / is, POWER) : STEP_MOST;

		times = times > STEP_MOST     ? STEP_MOST :
			times < 1 / STEP_MOST ? 1 / STEP_MOST :
						times;
		wanted[i] = of[i].parts * times;
		next[i] = of[i];
	}
	settle(next, wanted, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t by = next[i].parts > of[i].parts ? next[i].parts - of[i].parts :
							    of[i].parts - next[i].parts;

		worth |= by * WORTH_PART >= of[i].parts;
	}
	for (size_t i = 0; worth && i < n; i++)
		of[i].parts = next[i].parts;
	return worth;
}

double gs_balance_sum(const struct gs_balance *of, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += of[i].progress;
	return sum;
}

double gs_balance_fairness(const struct gs_balance *of, size_t n)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < n; i++) {
		least = fmin(least, per_share(&of[i]));
		most = fmax(most, per_share(&of[i]));
	}
	return most > 0 ? least / most : 0;
}
