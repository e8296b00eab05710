/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which priority of a client is in force. A client has one at a time: that of the most urgent of
 * its launches that wait or run, of which some may say a priority of their own in the page
 * (gs_priorities), and the client's own while there is none.
 */
#ifndef GPUSHARE_ARBITER_OWN_PRIORITY_H
#define GPUSHARE_ARBITER_OWN_PRIORITY_H

#include <stdint.h>

struct gs_gpu_client;

/* The priority that the client should have, by its page and by what the last poll found live. */
int32_t gs_own_priority(const struct gs_gpu_client *client);

#endif
