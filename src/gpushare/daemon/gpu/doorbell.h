/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sleeping until one of several words changes, which other threads and processes add to. */
#ifndef GPUSHARE_DAEMON_DOORBELL_H
#define GPUSHARE_DAEMON_DOORBELL_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/arbiter/gpu.h"

/* How many words the kernel can wait for at once. */
#define GS_DOORBELLS_MAX 128

/*
 * Sleeps until one of the n words differs from its `heard`, a thread wakes the sleepers of one, or
 * it is until_ns (gs_clock_ns(); UINT64_MAX: never). n may exceed GS_DOORBELLS_MAX, and then the
 * words beyond it are not watched. In that case, and on kernels before 5.16, which wait for one
 * word at a time, it sleeps a millisecond at most, so that the caller can check the others.
 */
void gs_doorbells_wait(const struct gs_doorbell *doorbell, size_t n, uint64_t until_ns);

/* Wakes all sleepers of the word, which the caller has changed. */
void gs_doorbell_wake(const _Atomic uint32_t *word);

#endif
