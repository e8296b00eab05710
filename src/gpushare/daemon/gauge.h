/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hand-over costs, as the daemon sees it: from the turn being given
 * until a kernel of the client that got it is on the GPU.  Only while a GPU is
 * gauged, for which two clients exchange it (measure.c): the pages are then
 * looked at far more often than jobs would be worth.
 *
 * Pure; time is a parameter (ns).
 */
#ifndef GPUSHARE_DAEMON_GAUGE_H
#define GPUSHARE_DAEMON_GAUGE_H

#include <stdint.h>

/* So many are kept; the first ones, which warm up, are not. */
#define GS_GAUGE_SAMPLES 33
#define GS_GAUGE_WARM_UP 6

struct gs_gauge {
	int on;
	uint64_t given_ns;  /* nothing of whoever has the turn has been seen on the GPU since; 0: it has, or nobody has it */
	uint64_t last;      /* the client that was seen there last: who comes back after itself took over from nobody */
	uint32_t seen;      /* hand-overs, those that warm up included */
	double ns[GS_GAUGE_SAMPLES];
};

/* What has been gauged. */
struct gs_gauged {
	uint32_t count;     /* of hand-overs kept */
	double p10_ns, p50_ns, p90_ns;
};

/* Begin anew, or end. */
void gs_gauge_set(struct gs_gauge *gauge, int on);

/* Somebody is given the turn; something of the client that has it is on the GPU. */
void gs_gauge_given(struct gs_gauge *gauge, uint64_t now);
void gs_gauge_begun(struct gs_gauge *gauge, uint64_t client, uint64_t now);

/* When to look again if nothing but the gauge wanted it: at most `next`. */
uint64_t gs_gauge_next(const struct gs_gauge *gauge, uint64_t next, uint64_t now);

void gs_gauge_result(const struct gs_gauge *gauge, struct gs_gauged *gauged);

#endif
