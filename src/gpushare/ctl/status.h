/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `status` and `top` have in common. */
#ifndef GPUSHARE_CTL_STATUS_H
#define GPUSHARE_CTL_STATUS_H

#include <jansson.h>
#include <stddef.h>

/*
 * "sjf, urgent: rr" for the policy of each GPU where a class has one of its own, and "(fell back)"
 * behind those that fifo stands in for.
 */
void gs_status_say_policies(json_t *gpus);

/* "gpushared 0.1.0, pid 4711, up 3-04:05:06" */
void gs_status_title(json_t *status, char *buf, size_t size);

#endif
