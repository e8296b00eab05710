/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timing the hand-overs of a GPU that is gauged; see gauge.h. */
#include "gpushare/daemon/gauge.h"

#include <string.h>

#include "common/clock.h"
#include "gpushare/metrics/metrics.h"

/* As exact as a client's own wait; not for ever, should its kernel not come. */
#define LOOK_NS (2 * GS_NS_PER_US)
#define LOOK_FOR_NS (20 * GS_NS_PER_MS)

void gs_gauge_set(struct gs_gauge *gauge, int on)
{
	memset(gauge, 0, sizeof(*gauge));
	gauge->on = on;
}

void gs_gauge_given(struct gs_gauge *gauge, uint64_t now)
{
	gauge->given_ns = gauge->on ? now : 0;
}

void gs_gauge_begun(struct gs_gauge *gauge, uint64_t client, uint64_t now)
{
	uint64_t since = gauge->given_ns;
	int took_over = gauge->last && gauge->last != client;

	if (!since)
		return;
	gauge->given_ns = 0;
	gauge->last = client;
	if (!took_over || gauge->seen == GS_GAUGE_WARM_UP + GS_GAUGE_SAMPLES)
		return;
	if (gauge->seen >= GS_GAUGE_WARM_UP)
		gauge->ns[gauge->seen - GS_GAUGE_WARM_UP] = now > since ? (double)(now - since) : 0;
	gauge->seen++;
}

uint64_t gs_gauge_next(const struct gs_gauge *gauge, uint64_t next, uint64_t now)
{
	if (!gauge->given_ns || now > gauge->given_ns + LOOK_FOR_NS)
		return next;
	return now + LOOK_NS < next ? now + LOOK_NS : next;
}

void gs_gauge_result(const struct gs_gauge *gauge, struct gs_gauged *gauged)
{
	double ns[GS_GAUGE_SAMPLES];
	uint32_t n = gauge->seen > GS_GAUGE_WARM_UP ? gauge->seen - GS_GAUGE_WARM_UP : 0;

	memset(gauged, 0, sizeof(*gauged));
	gauged->count = n;
	if (!n)
		return;
	memcpy(ns, gauge->ns, sizeof(ns));
	gauged->p10_ns = gs_quantile(ns, n, 0.1);
	gauged->p50_ns = gs_quantile(ns, n, 0.5);
	gauged->p90_ns = gs_quantile(ns, n, 0.9);
}
