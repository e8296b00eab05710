/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several clients may have the GPU's time slice at once.
 *
 * Most kernels of libraries cannot leave the GPU once they run. Others do not wait for them: the
 * driver (or, under MPS, the hardware) shares the GPU better than waiting would. So a kernel that
 * cannot leave within gs_gpu_options.leave_most_ns is left behind when its client loses the time
 * slice, and the next client launches beside it. Likewise equals do not take turns if one of them
 * has such kernels: one of them is the holder, as the scheduler knows it, and the others have a
 * time slice beside it. A more urgent client also keeps its time slice, even while it is idle, as
 * long as kernels of a less urgent client that cannot leave are on the GPU: then its next launch
 * need not ask.
 *
 * A client that has had more GPU time per share than its equals, or whose group (group.h) has, is
 * held back for a while, so that none of them starves: usage.h, equals.h.
 *
 * Times are ns of the monotonic clock.
 */
#ifndef GPUSHARE_ARBITER_HOLDERS_H
#define GPUSHARE_ARBITER_HOLDERS_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Has the client kernels on the GPU that are left behind when it loses the time slice? That
 * includes kernels that should have left long ago. */
int gs_holders_stays(const struct gs_gpu *gpu, const struct gs_gpu_client *client, uint64_t now);

/* Does the client have kernels that cannot leave, now or in the last 10 ms? Always 0 while kernels
 * are not left behind at all. */
int gs_holders_cannot_leave(const struct gs_gpu_client *client, uint64_t now);

/* Has this client the time slice beside the holder? */
int gs_holders_is_beside(const struct gs_gpu_client *client);

/* Has any client the time slice beside the holder, or is the holder barred? */
int gs_holders_share(const struct gs_gpu *gpu);

/* Whose kernels may be on the GPU beside others': the holder's (1), and how many other clients'. */
struct gs_present {
	unsigned holder, others;
};
struct gs_present gs_holders_present(const struct gs_gpu *gpu);

/* Writes to the client's page whether kernels of others may be on the GPU at the same time as its
 * own (gs_page.beside). `present` is of its GPU; for several clients it is found once. */
void gs_holders_tell_present(struct gs_gpu_client *client, const struct gs_present *present);
void gs_holders_tell_beside(struct gs_gpu_client *client); /* the same, for one */

/* Makes `next`, which has the time slice beside the holder and is its equal, the holder. The old
 * holder keeps a time slice beside it. */
void gs_holders_swap(struct gs_gpu *gpu, struct gs_gpu_client *next, uint64_t now);

/*
 * The scheduler wants the holder to stop. Returns 1 if it wants that for an equal that shares the
 * GPU with the holder: the equal becomes the holder if it has a time slice beside the holder and is
 * not held back, otherwise the holder continues. Also returns 1, and the holder continues, if the
 * holder is being repaid (gs_holders_repay()). Returns 0 if the time slice must be taken.
 */
int gs_holders_step_aside(struct gs_gpu *gpu, uint64_t now);

/* Of the holder's equals that wait for a time slice the one that is furthest behind, if by more
 * than 0.25 s (2 s under a policy that gpushare.conf sets): it must be next, whatever the policy
 * says. NULL: there is none, or the holder goes by deadlines. */
struct gs_gpu_client *gs_holders_starved(const struct gs_gpu *gpu);

/* The client of gs_holders_starved() gets the time slice. It keeps it against equals that are ahead
 * of it for 60 ms, or until it has caught up or one of them has waited for StarvationBound. */
void gs_holders_repay(struct gs_gpu *gpu, struct gs_gpu_client *client, uint64_t now);

/* Call once per step, after the decisions: decides which clients have the time slice beside the
 * holder, and tells the others' kernels to leave. */
void gs_holders_step(struct gs_gpu *gpu, uint64_t now);

/* When gs_holders_step() must be called again for its own sake, ns; UINT64_MAX: it need not. */
uint64_t gs_holders_next(const struct gs_gpu *gpu, uint64_t now);

#endif
