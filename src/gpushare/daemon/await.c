/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the words of those who should come about now; see await.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/await.h"

#include "common/clock.h"
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/event.h"
#include "gpushare/daemon/gpu.h"

/* More at the same moment wake their attendants. */
#define AWAITED_MAX 16

static int asked(const struct gs_awaited *awaited, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (gs_page_load(awaited[i].page->asked) != awaited[i].asked)
			return 1;
	return 0;
}

/* Without the lock: tenants come and go by the loop alone, and pages with them. */
static void wait_awake(const struct gs_daemon *d, const struct gs_awaited *awaited, size_t n)
{
	uint64_t until = UINT64_MAX, now;

	for (size_t i = 0; i < n; i++)
		until = awaited[i].until < until ? awaited[i].until : until;
	do {
		__builtin_ia32_pause();
		now = gs_clock_ns();
	} while (!asked(awaited, n) && now < until && now < atomic_load(&d->due_ns));
}

int gs_await(struct gs_daemon *d)
{
	struct gs_awaited awaited[AWAITED_MAX];
	size_t n = 0;
	int any = 0;

	for (size_t i = 0; i < d->ndevice; i++)
		n += gs_gpu_await(d->device[i].gpu, awaited + n, AWAITED_MAX - n, &any, gs_clock_ns());
	if (n && !any) {
		gs_unlock();
		wait_awake(d, awaited, n);
		gs_lock();
	}
	any |= asked(awaited, n);
	/* Whose GPU it is, its next turn finds out. */
	for (size_t i = 0; any && i < d->ndevice; i++)
		gs_device_poke(&d->device[i]);
	return n || any;
}
