/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the event loop tells a GPU's arbiter, and what it asks of it.  Each function waits until the
 * arbiter has done it, which takes microseconds, and has the GPU take its next turn at once.  With
 * the loop's lock held (event.h).
 */
#ifndef GPUSHARE_DAEMON_COMMANDS_H
#define GPUSHARE_DAEMON_COMMANDS_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/daemon/gpu/arbiter.h"
#include "gpushare/proto/msg.h"

/* ---- clients ---- */

/* As gs_gpu_add(): the client on the GPU, or NULL. */
struct gs_gpu_client *gs_command_join(struct gs_arbiter *arbiter,
				      const struct gs_gpu_client_params *params, int adopted);

/* It goes.  *launches is what it has made in all; 1 if kernels of it are on the GPU. */
int gs_command_leave(struct gs_arbiter *arbiter, struct gs_gpu_client *client,
		     struct gs_counted *counted);

/* It has asked by message: its page is looked at. */
void gs_command_doorbell(struct gs_arbiter *arbiter, struct gs_gpu_client *client);

/* A kernel of a client with that usage and that list, and the key of what is learned of it.  -1: it
 * is not listed. */
int gs_command_announce(struct gs_arbiter *arbiter, struct gs_step_usage *usage,
			struct gs_kernel_map *kernels, const struct gs_msg_kernel *kernel,
			uint64_t key);

/* What is known of such a kernel's variant; of one that is not listed nothing is kept. */
void gs_command_variant(struct gs_arbiter *arbiter, struct gs_step_usage *usage,
			const struct gs_kernel_map *kernels, const struct gs_msg_variant *variant);

/* What a block-task of that kernel takes until its launches tell better, ps. */
void gs_command_expect(struct gs_arbiter *arbiter, struct gs_kernel_map *kernels, uint32_t kernel,
		       uint64_t tpt_ps);

/* Launches that have no launch slot (gs_gpu_client_untracked(), gs_gpu_client_launched()). */
void gs_command_untracked(struct gs_arbiter *arbiter, struct gs_gpu_client *client,
			  const struct gs_msg_untracked *told);

/* Priority, and class of the tasks that are to come. */
void gs_command_priority(struct gs_arbiter *arbiter, struct gs_gpu_client *client, int32_t priority,
			 uint32_t class);

/* Its process has been stopped, or goes on. */
void gs_command_stopped(struct gs_arbiter *arbiter, struct gs_gpu_client *client, int stopped);

/* gs_gpu_pin(), gs_gpu_unpin(), gs_gpu_settled(). */
int gs_command_pin(struct gs_arbiter *arbiter, struct gs_gpu_client *client);
void gs_command_unpin(struct gs_arbiter *arbiter);
int gs_command_settled(struct gs_arbiter *arbiter);

/* ---- the GPU ---- */

/* class "": the GPU's own policy.  -1 with the reason. */
int gs_command_policy(struct gs_arbiter *arbiter, const char *class, const char *policy,
		      struct gs_error *err);

/* As gs_gpu_status(); the names are valid until the next command that changes settings. */
void gs_command_status(struct gs_arbiter *arbiter, struct gs_gpu_status *status);

/* As gs_gpu_trace(). */
int gs_command_trace(struct gs_arbiter *arbiter, uint64_t now, struct gs_trace_image *image);

#endif
