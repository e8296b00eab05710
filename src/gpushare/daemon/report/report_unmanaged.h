/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that use GPUs past gpushare, as JSON.  Pure. */
#ifndef GPUSHARE_DAEMON_REPORT_UNMANAGED_H
#define GPUSHARE_DAEMON_REPORT_UNMANAGED_H

#include <jansson.h>
#include <stdint.h>

#include "gpushare/daemon/report/report.h"

/* How many of that GPU. */
uint32_t gs_report_unmanaged_of(const struct gs_report_status *status, uint32_t gpu);

/* An array, which the caller owns. */
json_t *gs_report_unmanaged_json(const struct gs_report_status *status);

#endif
