/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the arbiter notices clients' requests; see gpu.h.
 *
 * A client adds one to `requested` and then reads `attended`, which says whether it must wake
 * somebody. A thread that is about to sleep writes `attended` and then compares `requested` with
 * the value that it read before. Both are sequentially consistent, so either the client wakes the
 * sleeper, or the sleeper sees the request.
 */
#include "common/clock.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/copies.h"
#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/usage.h"

/* A client that used the GPU so recently is likely to use it again at once. */
#define SHARED_NS (10 * GS_NS_PER_MS)

int gs_gpu_hear(struct gs_gpu *gpu)
{
	struct gs_gpu_client *t;
	int any = 0;

	LIST_FOREACH (t, &gpu->clients, link) {
		uint32_t requested = atomic_load(&t->p.page->requested);

		if (requested == t->requested)
			continue;
		t->requested = requested;
		t->dirty = 1;
		any = 1;
	}
	return any;
}

void gs_gpu_attend(struct gs_gpu *gpu, enum gs_attended attended)
{
	struct gs_gpu_client *t;

	gpu->loop.attended = attended;
	LIST_FOREACH (t, &gpu->clients, link)
		atomic_store(&t->p.page->attended, attended);
}

size_t gs_gpu_doorbells(const struct gs_gpu *gpu, struct gs_doorbell *doorbell, size_t max)
{
	const struct gs_gpu_client *t;
	size_t n = 0;

	LIST_FOREACH (t, &gpu->clients, link) {
		if (n < max)
			doorbell[n] = (struct gs_doorbell) { &t->p.page->requested, t->requested };
		n++;
	}
	return n;
}

static int is_user(const struct gs_gpu_client *t, uint64_t now)
{
	return !t->stopped && !t->bad.is &&
	       (t->task || gs_gpu_client_used_within(t, SHARED_NS, now) ||
		gs_usage_is_busy(t, now));
}

int gs_gpu_wants_polling(const struct gs_gpu *gpu, uint64_t now)
{
	unsigned users = 0, without = gpu->leaving || gs_gpu_is_starting(gpu);
	const struct gs_gpu_client *t;

	if (gpu->pin.client)
		return 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		if (!is_user(t, now))
			continue;
		users++;
		without += !gs_gpu_client_has_slice(t) || t->holder_state.barred;
	}
	return (users > 1 && without) || gs_copies_contend(gpu, now);
}
