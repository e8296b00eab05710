/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that the three reports share. */
#ifndef GPUSHARE_CTL_REPORTS_H
#define GPUSHARE_CTL_REPORTS_H

#include "gpushare/ctl/ctl.h"

/* Parse [--job N] (if takes_job) and [--json], ask for `what`, print.  The exit status. */
int gs_ctl_report(const struct gs_verb *verb, enum gs_query what, int takes_job,
		  const char *socket, int argc, char **argv);

#endif
