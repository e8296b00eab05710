/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pinning lets one client keep the GPU, whatever the policy says, so that the driver can checkpoint
 * it. The driver's checkpoint waits for all submitted work and blocks every further call of the
 * process. An evicted kernel could then never be relaunched, and the work that waits behind it in
 * its stream would never end. So the client first finishes what it had begun, and nothing of it is
 * told to leave meanwhile; what it launches while it has the time slice ends by itself.
 */
#include "gpushare/arbiter/pin.h"

#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/handover.h"
#include "gpushare/arbiter/task.h"

int gs_gpu_pin(struct gs_gpu_client *t)
{
	struct gs_gpu *gpu = t->gpu;

	if (gpu->pin.client)
		return -1;
	gpu->pin.client = t;
	gpu->pin.seen = 0;
	return 0;
}

void gs_gpu_unpin(struct gs_gpu *gpu)
{
	gpu->pin.client = NULL;
	gpu->pin.seen = 0;
}

static int is_live(const struct gs_slot *slot)
{
	uint32_t k = gs_page_load(slot->state);

	return k == GS_K_READY || k == GS_K_TORUN || k == GS_K_RUNNING || k == GS_K_TOEVICT;
}

static void note_live_launches(struct gs_gpu *gpu)
{
	const struct gs_page *page = gpu->pin.client->p.page;

	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		gpu->pin.seq[i] = is_live(&page->slot[i]) ? gs_page_load(page->slot[i].seq) + 1 : 0;
	gpu->pin.seen = 1;
}

void gs_pin_step(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->pin.client, *holder = gpu->holder;

	if (gpu->leaving)
		return;
	if (holder && holder != t) {
		/* The policy is told that the holder stopped; it becomes a task again if it wants
		 * the GPU. */
		gs_gpu_task_leave(holder, now);
		holder->dirty = 1;
		if (!gs_handover_take(gpu, 0, now))
			return;
		if (gpu->leaving)
			return; /* do not overlap here: the next step comes soon */
	}
	if (gpu->holder != t) {
		gs_gpu_task_leave(t, now);
		gs_handover_give(gpu, t, now);
		gs_gpu_poll(t, now);
	}
	if (!gpu->pin.seen)
		note_live_launches(gpu);
}

int gs_gpu_settled(const struct gs_gpu *gpu)
{
	const struct gs_page *page;

	if (!gpu->pin.client || !gpu->pin.seen || gpu->holder != gpu->pin.client)
		return 0;
	page = gpu->pin.client->p.page;
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		if (gpu->pin.seq[i] && is_live(&page->slot[i]) &&
		    gs_page_load(page->slot[i].seq) + 1 == gpu->pin.seq[i])
			return 0;
	return 1;
}
