/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WHERE: a process asks which step it is in, or for the driver; see proto/msg.def. */
#ifndef GPUSHARE_DAEMON_WHERE_H
#define GPUSHARE_DAEMON_WHERE_H

#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/step.h"

gs_handler gs_on_where;

/*
 * The variables that a step's processes get from gpushared, "A=B\n" each, those of gs_step_env()
 * among them.  0, or -1: it was cut.
 */
int gs_where_env(const struct gs_daemon *d, const struct gs_step *step, char *text, size_t size);

/* The step that the connection's process is in; NULL: none. */
const struct gs_step *gs_where_step(const struct gs_connection *conn);

#endif
