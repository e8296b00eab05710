/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients' copies on a GPU: what their pages tell of them (gs_copies), who may copy now
 * (copy_policy.h), and the copy barriers.  One queue for each direction; as long as one client
 * alone copies in it, nothing is done to its copies.
 */
#ifndef GPUSHARE_ARBITER_COPIES_H
#define GPUSHARE_ARBITER_COPIES_H

#include <stdint.h>

struct gs_gpu;
struct gs_gpu_client;

/* Look, decide and act, once.  Returns when to be called again at the latest (ns); UINT64_MAX: when
 * a client asks. */
uint64_t gs_copies_step(struct gs_gpu *gpu, uint64_t now);

/*
 * Do copies of several clients want the same engine, or will they soon? They do if a copy is under
 * way, or was just now, and another client has copied in that direction within the last second. An
 * arbiter that polls meanwhile sees that client's next copy as it begins. One that sleeps would
 * let less urgent copies go on until it has woken.
 */
int gs_copies_contend(const struct gs_gpu *gpu, uint64_t now);

/* The client comes: what its page says by now is no news. */
void gs_copies_join(struct gs_gpu_client *client);

/* The client goes: nothing is left in the way of its copies. */
void gs_copies_leave(struct gs_gpu_client *client);

#endif
