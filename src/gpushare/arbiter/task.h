/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler knows of a client: its busy period as a task. */
#ifndef GPUSHARE_ARBITER_TASK_H
#define GPUSHARE_ARBITER_TASK_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Look at a client's page and tell the scheduler what it found. */
void gs_gpu_poll(struct gs_gpu_client *client, uint64_t now);

/* The client's busy period is over, as far as the scheduler is concerned. */
void gs_gpu_task_leave(struct gs_gpu_client *client, uint64_t now);

/* The holder keeps the GPU with nothing to do only as long as gs_polling_grace() says, if somebody
 * waits. */
void gs_gpu_task_check_idle(struct gs_gpu *gpu, uint64_t now);

#endif
