/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hpfw: high priority first wake-up (RBDM, section 4.3.1).  Shortens the
 * response of high priorities; low ones starve under load.
 */
#include "gpushare/memory/wake.h"

static int before(const struct gs_waiting *x, const struct gs_waiting *y)
{
	if (x->priority != y->priority)
		return x->priority > y->priority;
	return x->order < y->order;
}

const struct gs_wake gs_wake_hpfw = { .name = "hpfw", .before = before };
