/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-sim's usage, on standard output. */
#ifndef GPUSHARE_SIM_HELP_H
#define GPUSHARE_SIM_HELP_H

void sim_help(void);

#endif
