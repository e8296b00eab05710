/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Periods and deadlines; see period.h. */
#include "common/period.h"

#include "common/units.h"

static int is_within(uint64_t ns)
{
	return ns >= GS_PERIOD_MIN_NS && ns <= GS_PERIOD_MAX_NS;
}

int gs_period_parse(const char *text, uint64_t *ns, struct gs_error *err)
{
	if (gs_parse_duration(text, ns, err) < 0)
		return -1;
	return is_within(*ns) ? 0 : gs_fail(err, "'%.40s' is not between 0.1ms and a day", text);
}

int gs_period_complete(struct gs_period *period, struct gs_error *err)
{
	if (period->every_ns && !is_within(period->every_ns))
		return gs_fail(err, "the period must be between 0.1 ms and a day");
	if (period->deadline_ns && !is_within(period->deadline_ns))
		return gs_fail(err, "the deadline must be between 0.1 ms and a day");
	if (!period->deadline_ns)
		period->deadline_ns = period->every_ns;
	return 0;
}
