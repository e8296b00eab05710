/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A first look through a workload file: whether all of it is right, and what to expect of it. */
#ifndef GPUSHARE_SIM_SURVEY_H
#define GPUSHARE_SIM_SURVEY_H

#include "gpushare/sim/text.h"

struct sim_survey {
	size_t count; /* kernels; a number of 32 bits names each */
	int sorted;   /* none arrives before one that stands above it */
};

/* 0, or -1 with "name:line:column: reason" for the first thing wrong. */
int sim_survey(const struct sim_text *text, struct sim_survey *survey, struct gs_error *err);

#endif
