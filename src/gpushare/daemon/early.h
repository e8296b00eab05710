/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The next client goes shortly before the holder's kernel ends; see early.c. */
#ifndef GPUSHARE_DAEMON_EARLY_H
#define GPUSHARE_DAEMON_EARLY_H

#include "gpushare/daemon/gpu_core.h"

/* When the holder's turn may be taken although its kernel runs on to its end; UINT64_MAX: it may not. */
uint64_t gs_early_at(const struct gs_gpu *gpu, uint64_t now);

/* Take it if it is that late. */
void gs_early_turn(struct gs_gpu *gpu, uint64_t now);

/*
 * One look at whoever is leaving that way; 1 once it is out.  What should have ended by now, or is not
 * alone there, is told to leave (gpu->ends_by is 0 then): the rest of gs_turn_drain() does so.
 */
int gs_early_drain(struct gs_gpu *gpu, uint64_t now);

/* How soon it is looked at again (ns). */
uint64_t gs_early_next(const struct gs_gpu *gpu, uint64_t now);

#endif
