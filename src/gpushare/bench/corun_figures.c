/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Progress, throughput and fairness of kernels that run at once; see corun_figures.h. */
#include "gpushare/bench/corun_figures.h"

const char *corun_way_name(enum corun_way way)
{
	static const char *const name[CORUN_WAYS] = { "slices", "left-over", "spart", "blocks" };

	return name[way];
}

double corun_rate(const struct bench_corun *is)
{
	double did;

	if (is->launches < 2 || is->last_ns <= is->first_ns)
		return 0;
	did = 1 - (double)is->empty / (double)is->begun;
	return did * (double)(is->launches - 1) * 1e9 / (double)(is->last_ns - is->first_ns);
}

struct corun_figures corun_figures(const double *rate, const double *alone, uint32_t n)
{
	struct corun_figures f = { .antt = 0 };
	double least = 0, most = 0, longer = 0;

	for (uint32_t i = 0; i < n; i++) {
		double p = alone[i] > 0 ? rate[i] / alone[i] : 0;

		f.progress[i] = p;
		f.stp += p;
		least = i && least < p ? least : p;
		most = most > p ? most : p;
		longer += p > 0 ? 1 / p : 0;
	}
	if (least > 0) {
		f.antt = longer / n;
		f.fair = least / most;
	}
	return f;
}

uint32_t corun_border(uint32_t sms, uint32_t eighths)
{
	uint32_t border = (sms * eighths + 4) / 8;

	if (border < 1)
		border = 1;
	return border < sms ? border : sms - 1;
}
