/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A look at Slurm's plugins when the daemon starts. */
#ifndef GPUSHARE_DAEMON_INSTALLATION_H
#define GPUSHARE_DAEMON_INSTALLATION_H

#include "gpushare/config/config.h"

/*
 * Log an error for each of gpushare's Slurm plugins that is of another gpushare or
 * for another Slurm than the installed one: slurmd would go on without it, and
 * jobs would run without their shares' environment.  Says nothing where there is
 * no Slurm.
 */
void gs_installation_check(const struct gs_config *config);

#endif
