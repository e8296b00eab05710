/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fifo: first come, first served (RBDM, section 4.2).  It disregards the
 * priorities; nobody starves.
 */
#include "gpushare/memory/wake.h"

static int before(const struct gs_waiting *x, const struct gs_waiting *y)
{
	return x->order < y->order;
}

const struct gs_wake gs_wake_fifo = { .name = "fifo", .before = before };
