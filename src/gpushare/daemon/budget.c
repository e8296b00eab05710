/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A share of the time, saved up and spent; see budget.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/budget.h"

#include "common/clock.h"

#define MOST ((int64_t)GS_BUDGET_MOST_NS)
#define DEBT ((int64_t)GS_BUDGET_DEBT_NS)
#define BOUND (UINT64_C(1) << 60)
#define LOOK_RICH_NS GS_NS_PER_US
#define REST_TIMES 20
#define REST_LEAST_NS (200 * GS_NS_PER_US)
#define REST_MOST_NS (400 * GS_NS_PER_US)

void gs_budget_init(struct gs_budget *b, uint64_t now)
{
	*b = (struct gs_budget){ now, MOST };
}

static int64_t bounded(uint64_t ns)
{
	return (int64_t)(ns < BOUND ? ns : BOUND);
}

int64_t gs_budget_spend(struct gs_budget *b, uint64_t now, uint64_t used_ns)
{
	uint64_t earned = now > b->at_ns ? (now - b->at_ns) / GS_BUDGET_SHARE : 0;

	/* What a division by the share rounds off is earned the next time. */
	if (earned)
		b->at_ns = now;
	/* It was spent while that was earned: who counts seldom is no poorer than who counts often. */
	b->left_ns += bounded(earned) - bounded(used_ns);
	if (b->left_ns > MOST)
		b->left_ns = MOST;
	if (b->left_ns < -DEBT)
		b->left_ns = -DEBT;
	return b->left_ns;
}

uint64_t gs_budget_look_ns(int64_t left_ns)
{
	if (left_ns > MOST / 8)
		return LOOK_RICH_NS;
	return GS_BUDGET_POOR_NS + (left_ns < 0 ? (uint64_t)-left_ns / 4 : 0);
}

uint64_t gs_budget_rest_ns(uint64_t used_ns)
{
	uint64_t ns = used_ns < REST_MOST_NS ? REST_TIMES * used_ns : REST_MOST_NS;

	return ns < REST_LEAST_NS ? REST_LEAST_NS : ns < REST_MOST_NS ? ns : REST_MOST_NS;
}
