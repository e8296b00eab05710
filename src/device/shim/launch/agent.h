/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent, the shim's only thread in a job's process. It carries eviction signals to the GPU,
 * relaunches evicted kernels when the daemon says so, reclaims finished launches, and keeps the
 * connection to the daemon.
 */
#ifndef GPUSHARE_SHIM_AGENT_H
#define GPUSHARE_SHIM_AGENT_H

#include "device/shim/session/session.h"

/* Starts the agent. Returns 0; -1: no thread could be made. */
int shim_agent_start(struct shim_session *s);
/* Stops the agent at exit; waits for it for a second at most. */
void shim_agent_stop(struct shim_session *s);

#endif
