/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running near the GPU: the daemon reads pages that the GPU writes. */
#ifndef GPUSHARE_DAEMON_LOCALITY_H
#define GPUSHARE_DAEMON_LOCALITY_H

#include "gpushare/config/config.h"

/* Bind this process to the cores nearest to the GPUs, if they are PCI devices; logs what it did. */
void gs_locality_bind(const struct gs_config *config);

#endif
