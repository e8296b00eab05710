/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps that a report is about, with their figures. */
#ifndef GPUSHARE_DAEMON_SELECTION_H
#define GPUSHARE_DAEMON_SELECTION_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/report/report.h"

/* What a row's texts point to. */
struct gs_select_text {
	char step[16], reason[256];
};

/* Steps of a job (0: all): the finished ones first, then the registered ones. */
struct gs_selection {
	struct gs_step **step;
	struct gs_select_text *text; /* of the rows */
	struct gs_report_row *row;
	size_t n;
};

/* What of the arbiters' figures must be of this moment: those of the steps, or each kernel's, too.
 */
enum gs_with { GS_FIGURES, GS_KERNELS };

/* finished: those that are over as well.  0, and gs_selection_free() releases it; -1: no memory. */
int gs_select_steps(struct gs_daemon *d, uint32_t job, int finished, enum gs_with with,
		    struct gs_selection *sel);
void gs_selection_free(struct gs_selection *sel);

/* One step's figures; the texts are the caller's. */
void gs_select_row(const struct gs_daemon *d, struct gs_report_row *row, struct gs_step *s,
		   struct gs_select_text *text);

#endif
