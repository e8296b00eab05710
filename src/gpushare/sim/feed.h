/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arrivals of a workload file in order of time, read as time goes.  Where the file is in
 * that order, or the order says how far apart all arrive, nothing is kept; else where each
 * kernel stands in the file, 24 bytes each, sorted once.
 */
#ifndef GPUSHARE_SIM_FEED_H
#define GPUSHARE_SIM_FEED_H

#include "gpushare/sim/order.h"
#include "gpushare/sim/survey.h"

struct sim_feed;

/* Does not shuffle.  The text outlives it.  NULL with the reason. */
struct sim_feed *sim_feed_create(const struct sim_text *text, const struct sim_survey *survey,
				 const struct sim_order *order, struct gs_error *err);
void sim_feed_destroy(struct sim_feed *feed); /* NULL is fine */

/* From the first one again.  -1 with the reason. */
int sim_feed_restart(struct sim_feed *feed, struct gs_error *err);

/* The next one, and its kernel until the next call: 1; 0: no more; -1 with the reason. */
int sim_feed_next(struct sim_feed *feed, struct sim_arrival *arrival,
		  const struct sim_kernel **kernel, struct gs_error *err);

#endif
