/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PRIORITY_REQUEST: a program requests a priority of its own. */
#ifndef GPUSHARE_DAEMON_PRIORITY_REQUEST_H
#define GPUSHARE_DAEMON_PRIORITY_REQUEST_H

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_priority_request;

#endif
