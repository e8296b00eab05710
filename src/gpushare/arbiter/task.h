/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client's busy period, which is a task of the scheduler. Times are ns of the monotonic clock. */
#ifndef GPUSHARE_ARBITER_TASK_H
#define GPUSHARE_ARBITER_TASK_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Polls a client's page, books what it found and tells the scheduler. */
void gs_gpu_poll(struct gs_gpu_client *client, uint64_t now);

/* Ends the client's task, if it has one. */
void gs_gpu_task_leave(struct gs_gpu_client *client, uint64_t now);

/* How long the client's tasks are: the mean of the latest ones, or the present one's time so far if
 * that is more, ns; 0: it had none. */
uint64_t gs_gpu_task_length(const struct gs_gpu_client *client, uint64_t now);

/* Gives the client, and its task, the priority that should be in force now (own_priority.h). */
void gs_gpu_task_prioritise(struct gs_gpu_client *client, uint64_t now);

/* Ends the task of an idle holder whose gs_polling_grace() is over, if another client waits. */
void gs_gpu_task_check_idle(struct gs_gpu *gpu, uint64_t now);

#endif
