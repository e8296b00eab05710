/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one client, comparing clients, and the arbiter's writes to the page; see client.h.
 */
#define _GNU_SOURCE
#include "gpushare/arbiter/client.h"

#include <assert.h>
#include <limits.h>

#include "common/clock.h"

/* Most programs that come back to the GPU do so within this time. */
#define OF_LATE_NS (10 * GS_NS_PER_S)

void gs_gpu_client_enter(struct gs_gpu_client *t, enum gs_phase phase)
{
	/* The allowed transitions: for each phase a bit for each phase that may follow. */
	static const unsigned char to[] = {
		[GS_WAITING] = 1u << GS_RUNNING,
		[GS_STARTING] = 1u << GS_RUNNING | 1u << GS_LEAVING,
		[GS_RUNNING] = 1u << GS_STARTING | 1u << GS_LEAVING | 1u << GS_WAITING,
		[GS_LEAVING] = 1u << GS_WAITING,
	};

	assert(phase == t->phase || to[t->phase] >> phase & 1);
	t->phase = phase;
}

struct gs_gpu_client *gs_gpu_find(const struct gs_gpu *gpu, uint64_t id)
{
	struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link)
		if (t->p.id == id)
			return t;
	return NULL;
}

struct gs_urgency gs_gpu_client_urgency(const struct gs_gpu_client *t)
{
	return (struct gs_urgency) { t->p.class, t->told.priority, t->p.period.deadline_ns != 0 };
}

int gs_gpu_client_compare(const struct gs_gpu_client *a, const struct gs_gpu_client *b)
{
	return gs_sched_compare(a->gpu->sched, gs_gpu_client_urgency(a), gs_gpu_client_urgency(b));
}

int gs_gpu_client_is_due(const struct gs_gpu_client *t)
{
	return gs_sched_is_due(t->gpu->sched, gs_gpu_client_urgency(t));
}

int gs_gpu_client_is_out(const struct gs_gpu_client *t)
{
	/* Where a launch was evicted or waits pre-enqueued, a launch that has not started is behind
	 * it. */
	return t->found.on_gpu || (t->found.off_gpu && !t->found.put_back);
}

int gs_gpu_client_used_within(const struct gs_gpu_client *t, uint64_t ns, uint64_t now)
{
	return t->found.live || (t->pauses.ended_ns && now - t->pauses.ended_ns < ns);
}

int gs_gpu_client_uses(const struct gs_gpu_client *t, uint64_t now)
{
	return gs_gpu_client_used_within(t, OF_LATE_NS, now);
}

int gs_gpu_client_is_equal(const struct gs_gpu_client *t, const struct gs_gpu_client *to)
{
	return (t->task || t->found.live) && !t->stopped && !t->bad.is &&
	       gs_gpu_client_compare(t, to) == 0;
}

int gs_gpu_client_stays_on(const struct gs_gpu_client *t)
{
	const struct gs_gpu_client *other;

	LIST_FOREACH (other, &t->gpu->clients, link)
		if (gs_gpu_has_beside(t->gpu) && other != t && other->found.staying_live &&
		    gs_gpu_client_compare(other, t) < 0)
			return 1;
	return 0;
}

void gs_gpu_client_slice_over(const struct gs_gpu_client *t, uint64_t now)
{
	gs_trace_add(t->gpu->trace, t->traced, GS_TRACE_SLICE, t->slice.since, now);
}

void gs_gpu_client_wait_over(struct gs_gpu_client *t, uint64_t now)
{
	if (t->slice.wait_since && now > t->slice.wait_since)
		gs_trace_add(t->gpu->trace, t->traced, GS_TRACE_WAIT, t->slice.wait_since, now);
	t->slice.wait_since = 0;
}

void gs_gpu_client_grant(struct gs_gpu_client *t, uint32_t grant)
{
	atomic_store(&t->p.page->grant, grant && !t->holder_state.paused);
	/* The word must be visible before any slot is read. */
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * The assertion checks that launch_state.def allows the daemon this transition. The state is read
 * first because a failed exchange would still take the slot's cache line from the client's
 * processor, and a page has 126 slots.
 */
static int move(struct gs_slot *slot, uint32_t from, uint32_t to)
{
	assert(gs_launch_state_writers(from, to) & GS_BY_DAEMON);
	return gs_page_load(slot->state) == from && gs_slot_move(slot, from, to);
}

int gs_gpu_client_is_preenqueued(const struct gs_gpu_client *t)
{
	unsigned slots = gs_page_slots(t->p.page);
	int any = 0;

	for (unsigned i = 0; i < slots; i++) {
		if (gs_page_load(t->p.page->slot[i].state) != GS_K_READY)
			continue;
		if (!(gs_page_load(t->p.page->slot[i].flags) & GS_SLOT_PREENQUEUED))
			return 0;
		any = 1;
	}
	return any;
}

/*
 * A pre-enqueued launch starts when its slot becomes RUNNING. The flag is cleared first: if the
 * slot is READY again later, the launch has been evicted and no wait in the stream would start it.
 */
static unsigned let_go(struct gs_slot *slot)
{
	if (gs_page_load(slot->flags) & GS_SLOT_PREENQUEUED &&
	    atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED) & GS_SLOT_PREENQUEUED)
		return (unsigned)move(slot, GS_K_READY, GS_K_RUNNING);
	return (unsigned)move(slot, GS_K_READY, GS_K_TORUN);
}

unsigned gs_gpu_client_schedule(struct gs_gpu_client *t)
{
	unsigned launches = 0, agents = 0;
	unsigned slots = t->holder_state.paused ? 0 : gs_page_slots(t->p.page);

	for (unsigned i = 0; i < slots; i++) {
		struct gs_slot *slot = &t->p.page->slot[i];

		uint32_t state = gs_page_load(slot->state);
		/* A program's thread waits for a first launch; the agent waits for a relaunch. */
		unsigned *whose = gs_page_load(slot->started) ? &agents : &launches;

		/* Reading first is cheaper than an atomic exchange on every slot. */
		if (state == GS_K_READY)
			*whose += let_go(slot);
		/*
		 * The launch is queued behind another kernel and was told to leave before it
		 * started. If it is not called back, it starts only to leave at once. (H200, rr:
		 * 3,000 short kernels then took 3.9 s instead of 1.2.)
		 */
		if (state == GS_K_TOEVICT && !gs_page_load(slot->started))
			agents += (unsigned)move(slot, GS_K_TOEVICT, GS_K_RUNNING);
	}
	return agents ? UINT_MAX : launches;
}

/* The client's figure is used only to decide how long to wait before the next client may launch, so
 * a wrong one does little harm. */
static void add_leave(const struct gs_slot *slot, int told, uint64_t *leave_ns)
{
	uint64_t ns = told ? gs_page_load(slot->leave_ns) : 0;

	if (!gs_page_load(slot->started))
		return;
	if (!ns)
		*leave_ns = UINT64_MAX;
	else if (ns > *leave_ns)
		*leave_ns = ns;
}

unsigned gs_gpu_client_sweep(struct gs_gpu_client *t, uint64_t now, unsigned *evicted,
			     uint64_t *leave_ns)
{
	struct gs_page *page = t->p.page;
	/* Read this after the time slice was taken, so that a slot that came into use before that
	 * is included. */
	unsigned put_off = 0, slots = gs_page_slots(page);

	*evicted = 0;
	for (unsigned i = 0; i < slots; i++) {
		struct gs_slot *slot = &page->slot[i];
		uint32_t state = gs_page_load(slot->state);

		/* Only the daemon writes TORUN, but the client may change it to RUNNING at any
		 * moment. */
		if (state == GS_K_TORUN && move(slot, GS_K_TORUN, GS_K_READY)) {
			put_off++;
			continue;
		}
		if (state == GS_K_TORUN)
			state = gs_page_load(slot->state);
		if ((state == GS_K_RUNNING || state == GS_K_TOEVICT) && gs_page_load(slot->started))
			gs_watch_requested(&t->watch, i, now);
		if (state != GS_K_RUNNING)
			continue;
		if (!(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE)) {
			add_leave(slot, 0, leave_ns);
			continue;
		}
		/* Give the order first: what is recorded about it is read while the order is on its
		 * way. */
		if (move(slot, GS_K_RUNNING, GS_K_TOEVICT)) {
			(*evicted)++;
			gs_watch_evicting(&t->watch, page, i, now);
		}
		add_leave(slot, 1, leave_ns);
	}
	return put_off + *evicted;
}

int gs_gpu_client_quiet(const struct gs_gpu_client *t)
{
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++) {
		uint32_t state;

		if (!(t->found.out[i / 64] >> i % 64 & 1))
			continue;
		state = gs_page_load(t->p.page->slot[i].state);
		if (state != GS_K_RUNNING && state != GS_K_TOEVICT)
			return 0;
	}
	return 1;
}

void gs_gpu_client_go(struct gs_gpu_client *t)
{
	unsigned changed = t->holder_state.barred ? 0 : gs_gpu_client_schedule(t);

	if (changed)
		gs_page_doorbell_for(t->p.page, changed);
}
