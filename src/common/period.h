/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a step says of its time: how often its work on the GPU begins, and how long after that it is
 * to have ended. The policy edf goes by the deadlines, and reports say how punctual the step is.
 */
#ifndef GPUSHARE_COMMON_PERIOD_H
#define GPUSHARE_COMMON_PERIOD_H

#include <stdint.h>

#include "common/error.h"

#define GS_PERIOD_MIN_NS UINT64_C(100000)         /* 0.1 ms: a few hand-overs */
#define GS_PERIOD_MAX_NS UINT64_C(86400000000000) /* a day */

/* All zero: the step has said nothing. */
struct gs_period {
	uint64_t every_ns;    /* 0: it is not periodic */
	uint64_t deadline_ns; /* from the beginning of its work; 0: it has no deadline */
};

/* Reads "20ms" and so on, as gs_parse_duration() does, between the two limits. Returns 0, or -1
 * with the reason. */
int gs_period_parse(const char *text, uint64_t *ns, struct gs_error *err);

/* Checks both values, of which a peer may have said anything, and fills in the deadline of a period
 * that has none: the period. Returns 0, or -1 with the reason. */
int gs_period_complete(struct gs_period *period, struct gs_error *err);

#endif
