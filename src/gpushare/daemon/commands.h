/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the event loop tells a GPU's arbiter, and what it asks of it.  Each function waits until the arbiter has done it, which
 * takes microseconds, and has the GPU take its next turn at once.  With the loop's lock held (event.h).
 */
#ifndef GPUSHARE_DAEMON_COMMANDS_H
#define GPUSHARE_DAEMON_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/daemon/daemon.h"
#include "gpushare/daemon/gpu.h"
#include "gpushare/proto/msg.h"

struct gs_peer;

/* ---- clients ---- */

/* As gs_gpu_add(): the peer's tenant, or NULL. */
struct gs_tenant *gs_command_join(struct gs_device *device, const struct gs_tenant_params *params, int adopted);

/* The peer's tenant goes: peer->counted is its launches then.  1 if kernels of it are on the GPU. */
int gs_command_leave(struct gs_peer *peer);

/* It has asked by message: its page is looked at. */
void gs_command_bell(struct gs_peer *peer);

/* A kernel of the client, by its number and by the key of what is learned of it.  -1: it is not listed. */
int gs_command_announce(struct gs_peer *peer, const struct gs_msg_kernel *kernel, uint64_t key);

/* What a block-task of that kernel takes until its launches tell better, ps. */
void gs_command_expect(struct gs_peer *peer, uint32_t kernel, uint64_t tpt_ps);

/* Launches without a stub (gs_tenant_rode(), gs_tenant_launched()). */
void gs_command_rode(struct gs_peer *peer, const struct gs_msg_rode *rode);

/* Priority, and class of the tasks that are to come. */
void gs_command_priority(struct gs_peer *peer, int32_t priority, uint32_t class);

/* Of the peers on that GPU: for whom it makes a difference whether they are stopped (gs_peer.matters). */
void gs_command_find_those_that_matter(struct gs_daemon *d, struct gs_device *device);

/* Its process has been stopped, or goes on. */
void gs_command_stopped(struct gs_peer *peer, int stopped);

/* Of the peers on that GPU: who must go, or has not left by the deadline (gs_peer.verdict). */
void gs_command_judge(struct gs_daemon *d, struct gs_device *device);

/* gs_gpu_pin(), gs_gpu_unpin(), gs_gpu_settled(). */
int gs_command_pin(struct gs_peer *peer);
void gs_command_unpin(struct gs_device *device);
int gs_command_settled(struct gs_device *device);

/* ---- settings ---- */

/* As gs_gpu_configure(); the clients' tasks have the classes of that configuration at once. */
int gs_command_configure(struct gs_daemon *d, struct gs_device *device, const struct gs_config *config,
			 const struct gs_gpu_options *options, struct gs_error *err);

/* class "": the GPU's own policy. */
int gs_command_policy(struct gs_device *device, const char *class, const char *policy, struct gs_error *err);

/* ---- figures ---- */

/*
 * The tallies of all steps as they are now (gs_step.tally), with their kernels or as those were last, and gs_peer.counted.  What
 * launches have taught goes to d->learned.
 */
void gs_command_sync(struct gs_daemon *d, int with_kernels);

/* As gs_gpu_status(); the names are valid until the next command that changes settings. */
void gs_command_status(struct gs_device *device, struct gs_gpu_status *status);

/* As gs_gpu_trace(). */
int gs_command_trace(struct gs_device *device, uint64_t now, struct gs_trace_image *image);

#endif
