/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the history gets of a step; see record.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/history/record.h"

#include "gpushare/daemon/report/gather.h"
#include "gpushare/daemon/history/history.h"

void gs_record_step(struct gs_daemon *d, struct gs_step *s)
{
	struct gs_past_step past;

	if (!d->history)
		return;
	gs_gather_past(d, s, &past);
	gs_history_add(d->history, &past);
	gs_history_learned(d->history);
}
