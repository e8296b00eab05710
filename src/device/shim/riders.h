/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches that go without marks, stub and reap: whether one may, and the account of them. */
#ifndef GPUSHARE_SHIM_RIDERS_H
#define GPUSHARE_SHIM_RIDERS_H

#include <stdint.h>

#include "common/clock.h"
#include "gpushare/proto/page.h"

struct shim_session;
struct shim_request;

/*
 * So much predicted time may be on its way to the GPU in kernels that cannot be evicted while nobody else uses it, and
 * nobody has for some seconds (page.h, shared): whoever comes then finds that much in front of it, and once more
 * as much where the program waits for some of it to end.
 */
#define SHIM_ALONE_NS (16 * GS_NS_PER_MS)
/* And where no other client has come to the GPU at all: from then until its first kernel it takes longer than that. */
#define SHIM_ONLY_NS (64 * GS_NS_PER_MS)

/* Which of the two. */
static inline uint64_t shim_alone_ns(const struct gs_page *page)
{
	return gs_page_load(page->only) ? SHIM_ONLY_NS : SHIM_ALONE_NS;
}

/* May this launch ride along?  Then it is counted. */
int shim_rides(struct shim_session *s, const struct shim_request *r);

/* For a launch with a stub: its number, which counts what rode along since the last one. */
uint64_t shim_riders_number(int evictable, uint64_t *rode_ns);

/* A kernel's time is `is` where it was `was`: those that no stub has told of took as many times longer. */
void shim_riders_longer(uint64_t was, uint64_t is);

#endif
