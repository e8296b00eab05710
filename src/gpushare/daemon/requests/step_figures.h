/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FIGURES: what a process's step has of its GPU, for the NVML within jobs (src/device/nvml). Other
 * than PRIORITY_REQUEST it needs no HELLO: nvidia-smi is no client.
 */
#ifndef GPUSHARE_DAEMON_STEP_FIGURES_H
#define GPUSHARE_DAEMON_STEP_FIGURES_H

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_figures;

#endif
