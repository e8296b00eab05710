/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose kernels go first: the priority and the class of steps and of their clients. */
#ifndef GPUSHARE_DAEMON_PRIORITY_H
#define GPUSHARE_DAEMON_PRIORITY_H

#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/step.h"

/* The priority and the class of a step under this configuration. */
int32_t gs_step_priority(const struct gs_config *config, const struct gs_step_info *info);
uint32_t gs_step_class(const struct gs_config *config, const struct gs_step_info *info);

/* May the client have that priority? Yes, if it belongs to root, or the priority is not above its
 * step's. */
int gs_client_may_have(const struct gs_connection *conn, int32_t priority);

/* The priority of a client's kernels: its step's, or what it requested as far as it may. */
int32_t gs_client_priority(const struct gs_connection *conn);

/* The highest priority that single launches of the client may have. */
int32_t gs_client_priority_most(const struct gs_connection *conn);

/* Sets the administrator's priority for all steps of the job, later ones included. Returns how many
 * steps there are now. */
unsigned gs_steps_prioritise(struct gs_daemon *d, uint32_t job_id, uint32_t priority);

/* After a reload of the configuration: computes all priorities and classes anew. */
void gs_steps_reprioritise(struct gs_daemon *d);

#endif
