/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forced evictions (gpusharectl run --force-evict-ms) show that a program survives evictions and
 * what they cost. A client that has had the time slice for its period is told to leave as in any
 * eviction, and gets the time slice back as soon as it has left. The policy is not told, so it
 * decides as it would have without this.
 */
#include "gpushare/arbiter/force.h"

#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/handover.h"
#include "gpushare/arbiter/task.h"

/* Has the client started a kernel that can leave, and is nothing out that cannot? A kernel that
 * cannot leave would have to be waited for until it ends, and that is no eviction. */
static int can_leave(const struct gs_page *page)
{
	unsigned slots = gs_page_slots(page);
	int at_work = 0;

	for (unsigned i = 0; i < slots; i++) {
		const struct gs_slot *slot = &page->slot[i];

		if (gs_page_load(slot->state) != GS_K_RUNNING)
			continue;
		if (!(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE))
			return 0;
		at_work |= gs_page_load(slot->started) != 0;
	}
	return at_work;
}

/* The client has left. For the scheduler it is still running, unless another client has the time
 * slice by now. */
static void give_back(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->forced;

	gpu->forced = NULL;
	/* the client has nothing to do any more, or was stopped: the scheduler decides */
	if (!t->task)
		return;
	if (gpu->holder || gpu->pin.client) {
		gs_gpu_task_leave(t, now);
		t->dirty = 1; /* the next poll makes it a task again if it wants the GPU */
		return;
	}
	gs_handover_give(gpu, t, now);
}

void gs_force_step(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;

	if (gpu->forced && gpu->leaving != gpu->forced)
		give_back(gpu, now);
	t = gpu->holder;
	if (!t || !t->p.force_ns || !t->task || gpu->leaving || gs_gpu_is_starting(gpu) ||
	    gpu->pin.client || now - t->slice.since < t->p.force_ns || !can_leave(t->p.page))
		return;
	gpu->forced = t;
	gs_handover_take(gpu, 0, now);
	if (!gpu->leaving)
		give_back(gpu, now);
}
