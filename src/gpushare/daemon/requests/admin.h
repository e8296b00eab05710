/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may change policies and priorities; the changes are messages (connection.h). */
#ifndef GPUSHARE_DAEMON_ADMIN_H
#define GPUSHARE_DAEMON_ADMIN_H

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_policy, gs_on_class_policy, gs_on_priority, gs_on_suspend;

/* Look SlurmUser up, at the start and after a reload. */
void gs_admin_init(struct gs_daemon *d);

#endif
