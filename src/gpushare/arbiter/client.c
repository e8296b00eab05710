/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client is doing, how it compares, and the daemon's writes to its page; see client.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/client.h"

#include <assert.h>
#include <limits.h>

#include "common/clock.h"

/* Longer than the pauses of most that come again and again. */
#define OF_LATE_NS (10 * GS_NS_PER_S)

void gs_gpu_client_enter(struct gs_gpu_client *t, enum gs_phase phase)
{
	/* From each phase to which others, a bit for each. */
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

static struct gs_urgency urgency(const struct gs_gpu_client *t)
{
	return (struct gs_urgency) { t->p.class, t->p.priority };
}

int gs_gpu_client_compare(const struct gs_gpu_client *a, const struct gs_gpu_client *b)
{
	return gs_sched_compare(a->gpu->sched, urgency(a), urgency(b));
}

int gs_gpu_client_is_out(const struct gs_gpu_client *t)
{
	/* What has not started is behind a kernel that was evicted, where there is such a one. */
	return t->found.on_gpu || (t->found.off_gpu && !t->found.put_back);
}

int gs_gpu_client_uses(const struct gs_gpu_client *t, uint64_t now)
{
	return t->found.live || (t->pauses.ended_ns && now - t->pauses.ended_ns < OF_LATE_NS);
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
	atomic_store(&t->p.page->grant, grant);
	atomic_thread_fence(memory_order_seq_cst); /* before the slots are read */
}

/*
 * Every state that the daemon writes is one that launch_state.def allows it to.  Read
 * first: an exchange takes the slot's cache line from the client's processor even
 * where nothing is to be done, and a page has 126 of them.
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
 * A launch that waits in its stream already goes by being RUNNING.  Its client says so once, and is
 * asked no more: when the slot is READY again it has been evicted, and nothing is behind any wait.
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
	unsigned launches = 0, agents = 0, slots = gs_page_slots(t->p.page);

	for (unsigned i = 0; i < slots; i++) {
		struct gs_slot *slot = &t->p.page->slot[i];

		uint32_t state = gs_page_load(slot->state);
		/* A launch waits for the first time with its thread, a relaunch is the agent's. */
		unsigned *whose = gs_page_load(slot->started) ? &agents : &launches;

		/* An atomic exchange on each of the slots would take longer than all else. */
		if (state == GS_K_READY)
			*whose += let_go(slot);
		/*
		 * Queued behind another kernel, told to leave before it began:
		 * without this each would start only to leave at once
		 * (measured on an H200, rr: 3,000 short kernels took 3.9 s instead of 1.2).
		 */
		if (state == GS_K_TOEVICT && !gs_page_load(slot->started))
			agents += (unsigned)move(slot, GS_K_TOEVICT, GS_K_RUNNING);
	}
	return agents ? UINT_MAX : launches;
}

/* Never believed beyond what matters: it only says how long to wait before the next may go. */
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
	/* Read after the time slice was taken: who began to use a slot before that is seen. */
	unsigned put_off = 0, slots = gs_page_slots(page);

	*evicted = 0;
	for (unsigned i = 0; i < slots; i++) {
		struct gs_slot *slot = &page->slot[i];
		uint32_t state = gs_page_load(slot->state);

		/* Only we make a TORUN; the client makes RUNNING of it at any moment. */
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
		/* The order first, if it is not DONE by now: all that it is noted with is read
		 * while it is on its way. */
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
