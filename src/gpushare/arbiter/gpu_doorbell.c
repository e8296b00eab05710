/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How clients' requests are heard; see gpu.h.
 *
 * A client counts `asked` up and then reads `attended`, whether somebody has to be woken.  Whoever
 * goes to sleep writes `attended` and then compares `asked` with what was heard, both sequentially
 * consistent: so either the client wakes the sleeper, or the sleeper sees that it has asked.
 */
#define _GNU_SOURCE
#include "gpushare/arbiter/gpu_core.h"

int gs_gpu_hear(struct gs_gpu *gpu)
{
	struct gs_tenant *t;
	int any = 0;

	LIST_FOREACH (t, &gpu->tenants, link) {
		uint32_t asked = atomic_load(&t->p.page->asked);

		if (asked == t->asked)
			continue;
		t->asked = asked;
		t->dirty = 1;
		any = 1;
	}
	return any;
}

void gs_gpu_attend(struct gs_gpu *gpu, enum gs_attended attended)
{
	struct gs_tenant *t;

	gpu->loop.attended = attended;
	LIST_FOREACH (t, &gpu->tenants, link)
		atomic_store(&t->p.page->attended, attended);
}

size_t gs_gpu_doorbells(const struct gs_gpu *gpu, struct gs_doorbell *doorbell, size_t max)
{
	const struct gs_tenant *t;
	size_t n = 0;

	LIST_FOREACH (t, &gpu->tenants, link) {
		if (n < max)
			doorbell[n] = (struct gs_doorbell) { &t->p.page->asked, t->asked };
		n++;
	}
	return n;
}
