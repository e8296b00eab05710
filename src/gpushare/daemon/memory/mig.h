/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs in MIG mode: CUDA programs see their instances, never the GPU that a Gpu= line means. */
#ifndef GPUSHARE_DAEMON_MIG_H
#define GPUSHARE_DAEMON_MIG_H

#include "gpushare/config/config.h"

/*
 * At the start: no Gpu= line is of a GPU in MIG mode, and every instance that one names is there.
 * 0, also where NVML is not there or does not answer within 3 s, which the log has unless the
 * driver is the emulated device's; -1 with the reason.
 */
int gs_mig_check(const struct gs_config *config, struct gs_error *err);

#endif
