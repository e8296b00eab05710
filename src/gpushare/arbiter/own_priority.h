/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which priority of a client is in force. A client has one priority at a time: that of the most
 * urgent of its launches that wait or run, some of which may have a priority of their own in the
 * page (gs_priorities). While no launch waits or runs, it is the client's priority.
 */
#ifndef GPUSHARE_ARBITER_OWN_PRIORITY_H
#define GPUSHARE_ARBITER_OWN_PRIORITY_H

#include <stdint.h>

struct gs_gpu_client;

/* The priority that should be in force, by the page and by the launches that the last poll found.
 */
int32_t gs_own_priority(const struct gs_gpu_client *client);

#endif
