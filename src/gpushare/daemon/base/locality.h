/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the daemon near its GPUs, since it reads pages that they write. */
#ifndef GPUSHARE_DAEMON_LOCALITY_H
#define GPUSHARE_DAEMON_LOCALITY_H

#include "gpushare/config/config.h"

/* Binds this process to the cores nearest to the configured GPUs if these are PCI devices. Logs
 * what it did. */
void gs_locality_bind(const struct gs_config *config);

#endif
