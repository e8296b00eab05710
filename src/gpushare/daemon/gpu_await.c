/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose asking wakes nobody for a moment, since the loop reads its word; see gpu.h, gs_gpu_await(). */
#define _GNU_SOURCE
#include "gpushare/daemon/gpu_core.h"
#include "gpushare/daemon/pace.h"

static int hear(struct gs_tenant *t)
{
	uint32_t is = atomic_load(&t->p.page->asked);

	if (is == t->asked)
		return 0;
	t->asked = is;
	gs_gpu_bell(t);
	return 1;
}

/*
 * Here `attended` is written and `asked` read then, and the client counts `asked` first and
 * reads `attended` then: either it wakes somebody, or it is heard here.  Which of them it was that
 * counted before this began nobody knows, so its page is looked at once.
 */
static void begin(struct gs_tenant *t)
{
	t->awaited = 1;
	atomic_store(&t->p.page->attended, GS_ATTENDED_AWAKE);
	t->asked = atomic_load(&t->p.page->asked);
	gs_gpu_bell(t);
}

static int end(struct gs_tenant *t)
{
	t->awaited = 0;
	atomic_store(&t->p.page->attended, t->p.attended);
	return hear(t);
}

size_t gs_gpu_await(struct gs_gpu *gpu, struct gs_awaited *awaited, size_t max, int *asked, uint64_t now)
{
	struct gs_tenant *t;
	uint64_t until;
	size_t n = 0;

	LIST_FOREACH(t, &gpu->tenants, link) {
		if (n < max && gs_pace_is_awaited(t, now, &until)) {
			if (!t->awaited) {
				begin(t);
				*asked = 1;
			} else if (hear(t)) { /* it is heard once: who asks on and on is its attendant's affair */
				t->heard_ns = until + 1;
				*asked = 1;
			}
			awaited[n++] = (struct gs_awaited){ t->p.page, t->asked, until };
		} else if (t->awaited) {
			*asked |= end(t);
		}
	}
	return n;
}
