/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How clients' requests are heard; see gpu.h.
 *
 * A client counts `requested` up and then reads `attended`, whether somebody has to be woken.
 * Whoever goes to sleep writes `attended` and then compares `requested` with what was heard, both
 * sequentially consistent: so either the client wakes the sleeper, or the sleeper sees that it has
 * asked.
 */
#define _GNU_SOURCE
#include "gpushare/arbiter/gpu_core.h"

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
