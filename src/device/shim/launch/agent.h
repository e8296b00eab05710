/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim's one thread in a job's process: it carries eviction signals to
 * the GPU, relaunches evicted kernels when the daemon says so, reclaims
 * finished launches, and keeps the connection.
 */
#ifndef GPUSHARE_SHIM_AGENT_H
#define GPUSHARE_SHIM_AGENT_H

#include "device/shim/session/session.h"

int shim_agent_start(struct shim_session *s); /* 0, or -1 */
void shim_agent_stop(struct shim_session *s); /* at exit; waits a second at most */

#endif
