/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A share of the time, saved up and spent; see budget.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/budget.h"

#include "common/clock.h"

#define MOST ((int64_t)GS_BUDGET_MOST_NS)
/* Beyond the first, only what a wake-up and a look can keep up with. */
#define LOOK_RICH_NS GS_NS_PER_US
#define LOOK_POOR_NS (15 * GS_NS_PER_US)

void gs_budget_init(struct gs_budget *b, uint64_t now)
{
	*b = (struct gs_budget){ now, MOST };
}

int64_t gs_budget_spend(struct gs_budget *b, uint64_t now, uint64_t used_ns)
{
	uint64_t earned = now > b->at_ns ? (now - b->at_ns) / GS_BUDGET_SHARE : 0;

	if (earned > 2 * GS_BUDGET_MOST_NS)
		earned = 2 * GS_BUDGET_MOST_NS;
	if (used_ns > 2 * GS_BUDGET_MOST_NS)
		used_ns = 2 * GS_BUDGET_MOST_NS;
	/* What a division by the share rounds off is earned the next time. */
	if (earned)
		b->at_ns = now;
	b->left_ns += (int64_t)earned;
	if (b->left_ns > MOST)
		b->left_ns = MOST;
	b->left_ns -= (int64_t)used_ns;
	if (b->left_ns < -MOST)
		b->left_ns = -MOST;
	return b->left_ns;
}

uint64_t gs_budget_look_ns(int64_t left_ns)
{
	if (left_ns > MOST / 8)
		return LOOK_RICH_NS;
	return LOOK_POOR_NS + (left_ns < 0 ? (uint64_t)-left_ns / 8 : 0);
}
