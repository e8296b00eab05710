/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PRIORITY_REQUEST: a program's own word on its priority. */
#ifndef GPUSHARE_DAEMON_PRIORITY_REQUEST_H
#define GPUSHARE_DAEMON_PRIORITY_REQUEST_H

#include "gpushare/daemon/base/connection.h"

gs_handler gs_on_priority_request;

#endif
