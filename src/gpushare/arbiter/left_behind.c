/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels that are on the GPU although their client has lost the time slice; see left_behind.h. */
#include "gpushare/arbiter/left_behind.h"

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/arbiter/account.h"
#include "gpushare/arbiter/client.h"

void gs_left_behind_told(struct gs_gpu_client *t, uint64_t now)
{
	if (!t->holder_state.told_ns)
		t->holder_state.told_ns = now;
}

/* Tells what the client has on the GPU and can leave to do so. */
void gs_left_behind_clear_out(struct gs_gpu_client *t, uint64_t now)
{
	uint64_t leave_ns = 0;
	unsigned evicted;

	if (gs_gpu_client_sweep(t, now, &evicted, &leave_ns))
		gs_page_doorbell(t->p.page);
	if (evicted)
		gs_left_behind_told(t, now);
}

/*
 * Since when a kernel of this client is stuck: it was told to leave and has not by the deadline.
 * Under MPS any other kernel counts as well that stays for so long while its client has lost the
 * time slice, unless it leaves much of the GPU to others. 0: none is.
 */
static uint64_t stuck_since(const struct gs_gpu *gpu, const struct gs_gpu_client *t, uint64_t now)
{
	int any = gpu->o.one_context && !gs_gpu_is_holder(t);
	uint64_t since = 0;

	if (!t->found.on_gpu && !t->found.off_gpu)
		return 0;
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++) {
		uint64_t requested_ns = t->watch.seen[i].requested_ns;
		uint32_t few = gs_page_load(t->p.page->slot[i].flags) & GS_SLOT_FEW;

		if (!(t->found.out[i / 64] >> i % 64 & 1) || !requested_ns ||
		    now - requested_ns < gpu->o.evict_deadline_ns)
			continue;
		if (((any && !few) || gs_page_load(t->p.page->slot[i].state) == GS_K_TOEVICT) &&
		    (!since || requested_ns < since))
			since = requested_ns;
	}
	return since;
}

void gs_left_behind_find_stuck(struct gs_gpu_client *t, uint64_t now)
{
	struct gs_gpu *gpu = t->gpu;
	uint64_t since = stuck_since(gpu, t, now);

	if (!since || since == t->late.since_ns || t->stopped)
		return;
	t->late.since_ns = since;
	t->late.untold = gpu->loop.news = 1;
	gpu->figures.overdue++;
	gs_trace_add(gpu->trace, t->traced, GS_TRACE_OVERDUE, now, now);
	gs_log(GS_LOG_WARN,
	       "gpu %u: %s: %u kernels have not left after %llu ms; the next client runs beside them",
	       gpu->index, t->p.name, t->found.on_gpu,
	       (unsigned long long)((now - since) / GS_NS_PER_MS));
}

static int is_evicting(const struct gs_gpu_client *t)
{
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		if (t->found.out[i / 64] >> i % 64 & 1 &&
		    gs_page_load(t->p.page->slot[i].state) == GS_K_TOEVICT)
			return 1;
	return 0;
}

/* If all kernels that were told to leave while others ran have left, counts an eviction. */
static void find_end(struct gs_gpu_client *t, uint64_t now)
{
	uint64_t since = t->holder_state.told_ns;

	if (!since || is_evicting(t))
		return;
	t->holder_state.told_ns = 0;
	gs_gpu_client_evicted(t, since, now);
}

void gs_left_behind_check(struct gs_gpu_client *t, uint64_t now)
{
	find_end(t, now);
	if ((t->found.on_gpu || t->found.off_gpu) && !t->stopped)
		gs_left_behind_clear_out(t, now);
}
