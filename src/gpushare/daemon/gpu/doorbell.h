/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sleeping until one of several words changes that other threads and processes count up. */
#ifndef GPUSHARE_DAEMON_DOORBELL_H
#define GPUSHARE_DAEMON_DOORBELL_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/arbiter/gpu.h"

/* So many words the kernel waits for at once. */
#define GS_DOORBELLS_MAX 128

/*
 * Sleep until one of the n words is another than was heard, somebody wakes whoever sleeps on one,
 * or it is until_ns (gs_clock_ns(); UINT64_MAX: no such time).  n may be more than
 * GS_DOORBELLS_MAX: the words beyond are not looked at.  Then, and on kernels before 5.16, which
 * wait for one word at a time, it sleeps a millisecond at most, so the caller looks at the others
 * that often.
 */
void gs_doorbells_wait(const struct gs_doorbell *doorbell, size_t n, uint64_t until_ns);

/* Wake whoever sleeps on the word, which the caller has changed. */
void gs_doorbell_wake(const _Atomic uint32_t *word);

#endif
