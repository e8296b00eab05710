/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smhpfw: small memory, high priority first wake-up (RBDM, section 4.3.2).
 * As hpfw, of equal priorities the smallest: more fit at once and small ones
 * are short, so the mean completion is better; big ones starve under
 * load, which the paper leaves open and the ageing bound answers (rbdm.h).
 */
#include "gpushare/memory/wake.h"

static int before(const struct gs_waiting *x, const struct gs_waiting *y)
{
	if (x->priority != y->priority)
		return x->priority > y->priority;
	if (x->memory != y->memory)
		return x->memory < y->memory;
	return x->order < y->order;
}

const struct gs_wake gs_wake_smhpfw = { .name = "smhpfw", .before = before };
