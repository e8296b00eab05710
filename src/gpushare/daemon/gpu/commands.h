/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the event loop tells a GPU's arbiter and asks of it. Each function waits until the arbiter
 * has done it, which takes microseconds, and makes the arbiter take its next step at once. Call
 * them with the loop's lock held (event.h).
 */
#ifndef GPUSHARE_DAEMON_COMMANDS_H
#define GPUSHARE_DAEMON_COMMANDS_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/daemon/gpu/arbiter.h"
#include "gpushare/proto/msg.h"

/* ---- clients ---- */

/* See gs_gpu_add(): returns the client, or NULL if there is no memory. */
struct gs_gpu_client *gs_command_join(struct gs_arbiter *arbiter,
				      const struct gs_gpu_client_params *params, int adopted);

/* Removes the client. *counted: what it has made in all. Returns 1 if kernels of it are on the
 * GPU. */
int gs_command_leave(struct gs_arbiter *arbiter, struct gs_gpu_client *client,
		     struct gs_counted *counted);

/* The client has made a request by message, so its page is polled. */
void gs_command_doorbell(struct gs_arbiter *arbiter, struct gs_gpu_client *client);

/* Announces a client's kernel to its usage and its list of kernels, with its key in the table of
 * learned times. Returns 0; -1: it is not listed, see gs_step_usage_announce(). */
int gs_command_announce(struct gs_arbiter *arbiter, struct gs_step_usage *usage,
			struct gs_kernel_map *kernels, const struct gs_msg_kernel *kernel,
			uint64_t key);

/* Stores what is known of such a kernel's variant; does nothing if the kernel is not listed. */
void gs_command_variant(struct gs_arbiter *arbiter, struct gs_step_usage *usage,
			const struct gs_kernel_map *kernels, const struct gs_msg_variant *variant);

/* Sets the expected time per block-task of that kernel, ps, until its launches report one. */
void gs_command_expect(struct gs_arbiter *arbiter, struct gs_kernel_map *kernels, uint32_t kernel,
		       uint64_t tpt_ps);

/* Books launches without a launch slot (gs_gpu_client_untracked(), gs_gpu_client_launched()). */
void gs_command_untracked(struct gs_arbiter *arbiter, struct gs_gpu_client *client,
			  const struct gs_msg_untracked *told);

/* Sets the client's priority, the highest priority that single launches of it may have, and the
 * class of its next tasks. */
void gs_command_priority(struct gs_arbiter *arbiter, struct gs_gpu_client *client, int32_t priority,
			 int32_t most, uint32_t class);

/* The client's process has been stopped (1), or continues (0). */
void gs_command_stopped(struct gs_arbiter *arbiter, struct gs_gpu_client *client, int stopped);

/* See gs_gpu_pin(), gs_gpu_unpin() and gs_gpu_settled(). */
int gs_command_pin(struct gs_arbiter *arbiter, struct gs_gpu_client *client);
void gs_command_unpin(struct gs_arbiter *arbiter);
int gs_command_settled(struct gs_arbiter *arbiter);

/* ---- the GPU ---- */

/* Sets the policy of a class; class "": the GPU's own policy. Returns 0; -1 with the reason. */
int gs_command_policy(struct gs_arbiter *arbiter, const char *class, const char *policy,
		      struct gs_error *err);

/* See gs_gpu_status(); the names are valid until the next command that changes settings. */
void gs_command_status(struct gs_arbiter *arbiter, struct gs_gpu_status *status);

/* See gs_gpu_trace(). */
int gs_command_trace(struct gs_arbiter *arbiter, uint64_t now, struct gs_trace_image *image);

#endif
