/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the plan of evictions from the environment; see force_plan.h. */
#define _GNU_SOURCE
#include "device/shim/session/force_plan.h"

#include <stdlib.h>

#include "common/clock.h"

#define PERIOD_MAX_MS 86400000ul

/* Reads the variable as a number of at most max. Returns 1, or 0 if it is not one. */
static int number(const char *name, uint64_t max, uint64_t *value)
{
	const char *text = getenv(name);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	*value = strtoull(text, &end, 10);
	return !*end && *value <= max;
}

/* Reads the variable as a period in ms, which may have decimals whatever the program's locale.
 * Returns 1, or 0 if it is not one. */
static int period(const char *name, uint64_t *ns)
{
	const char *text = getenv(name);
	uint64_t ms, unit = GS_NS_PER_MS / 10;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	ms = strtoull(text, &end, 10);
	if (ms > PERIOD_MAX_MS)
		return 0;
	*ns = ms * GS_NS_PER_MS;
	if (*end == '.') {
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			*ns += (uint64_t)(*end - '0') * unit;
	}
	return !*end;
}

int shim_force_wanted(struct shim_force_plan *plan)
{
	const char *socket = getenv("GPUSHARE_SOCKET");
	uint64_t value = 0;

	if (socket && *socket)
		return 0;
	if (number("GPUSHARE_FORCE_EVICT_TASKS", UINT64_MAX, &value) && value)
		plan->kind = SHIM_FORCE_TASKS;
	else if (number("GPUSHARE_FORCE_EVICT_SEED", UINT64_MAX, &value))
		plan->kind = SHIM_FORCE_SEED;
	else if (period("GPUSHARE_FORCE_EVICT_MS", &value))
		plan->kind = SHIM_FORCE_PERIOD;
	else
		return 0;
	plan->value = value;
	return 1;
}
