/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fifo: in order of arrival, to completion.  What a GPU does with one
 * queue, and what the core falls back to: every
 * operation is the core's default.
 *
 * Good for batches of equal kernels; bad for a short kernel behind a long one.
 */
#include "gpushare/sched/policy.h"

const struct gs_policy gs_policy_fifo = { .name = "fifo" };
