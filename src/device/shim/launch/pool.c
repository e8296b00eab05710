/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pool of launches, and reclaiming those that have ended; see pool.h. */
#define _GNU_SOURCE
#include "device/shim/launch/pool.h"

#include <time.h>

#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/channels.h"
#include "device/shim/launch/marker.h"
#include "device/shim/launch/facts.h"
#include "device/shim/launch/untracked.h"

#define FULL_POOL_NAP_NS 20000
/* A kernel's last block writes that the kernel is over; the event behind it follows within
 * microseconds. */
#define EVENT_LATE_NS (10 * GS_NS_PER_MS)

static struct shim_launch pool[GS_PAGE_SLOTS];
static _Atomic uint32_t hint;
static struct gs_page *page;

/* Use as few different slots as possible, since everybody who polls the page reads all slots in
 * use. */
#define WINDOW 8
static _Atomic uint64_t queued_ns;
static _Atomic unsigned int queued_unknown;

struct shim_launch *shim_launch_at(uint32_t index)
{
	return &pool[index];
}

CUdeviceptr shim_launch_slot(const struct shim_launch *l, size_t offset)
{
	return l->ctx->page + offsetof(struct gs_page, slot) + l->index * sizeof(struct gs_slot) +
	       offset;
}

CUdeviceptr shim_launch_ctl(const struct shim_launch *l, size_t offset)
{
	return l->ctx->ctl + l->index * sizeof(struct gs_ctl) + offset;
}

/* Reports the measured time to the daemon in this slot, since the program may never launch this
 * kernel again. */
static void tell(struct gs_slot *slot, uint64_t ns)
{
	gs_page_store(slot->alone_ns, ns ? ns : 1);
	atomic_fetch_or(&slot->flags, GS_SLOT_TIMED);
}

/* The events are not ready: should this be tried again a little later? */
static int is_near(struct shim_launch *l)
{
	uint64_t now = gs_clock_ns();

	if (!l->watch.done_ns)
		l->watch.done_ns = now;
	return now - l->watch.done_ns < EVENT_LATE_NS;
}

void shim_launch_note_neighbours(struct shim_launch *l)
{
	l->watch.besides = gs_page_load(page->besides);
	l->beside = (uint8_t)gs_page_load(page->beside);
}

/*
 * May others' kernels have run during this launch? It may be reclaimed long after it has ended, and
 * the neighbour that came while it ran may have gone by then. In that case the time is an upper
 * bound, as it is beside kernels in other contexts: under MPS, too, it is better than none.
 */
static uint32_t was_beside(const struct shim_launch *l)
{
	uint32_t now = gs_page_load(page->beside);

	if (l->beside || now || gs_page_load(page->besides) == l->watch.besides)
		return l->beside ? l->beside : now;
	return GS_BESIDE_SLICED;
}

static void learn_time(struct shim_launch *l, uint64_t ns)
{
	int shared = gs_page_load(page->shared) != 0;
	uint32_t beside = was_beside(l);
	uint64_t ps = (uint64_t)((double)ns * 1e3 / (double)l->tasks), was;

	was = shim_time_learn(l->time, ps, l->watch.sampled, shared, beside);
	if (!beside) {
		shim_variant_timed(l->kernel->code, l->ctx, !l->as.variant, l->time->dims, ps);
		shim_facts_launch(shim_session_peek(), l->kernel->code, l->nt, l->at_once, ns);
	}
	if (was)
		shim_untracked_longer(was, l->time->tpt_ps);
	if (l->time->tpt_ps)
		tell(l->slot, beside ? l->time->tpt_ps * l->tasks / 1000 : ns);
}

/* Learns the time of an undisturbed launch, which is the distance of its events. Returns 0 if it is
 * not known yet. */
static int learn(struct shim_launch *l)
{
	CUstreamCaptureMode mode;
	float ms = 0;
	CUresult rc;

	if (!l->watch.sampled || gs_page_load(l->slot->evictions) || !l->nt ||
	    !shim_context_use(l->ctx))
		return 1;
	shim_capture_relax(&mode);
	rc = REAL(cuEventElapsedTime_v2)(&ms, l->watch.begin, l->watch.end);
	shim_capture_restore(mode);
	shim_context_unuse(l->ctx);
	if (rc == CUDA_ERROR_NOT_READY)
		return !is_near(l);
	if (rc != CUDA_SUCCESS || !(ms > 0))
		return 1;
	learn_time(l, (uint64_t)((double)ms * 1e6));
	return 1;
}

static void end_blocked(struct shim_launch *l)
{
	if (l->evictable)
		shim_blocked_end(l->streams.blocked, l->streams.legacy);
	l->evictable = 0;
}

/* Reclaims a launch that is DONE, so everything of it is over. Only one thread gets to do it. */
static void reclaim(struct shim_launch *l)
{
	int out = SHIM_OUT;

	if (!atomic_compare_exchange_strong(&l->taken, &out, SHIM_RECLAIMING))
		return;
	if (gs_page_load(l->slot->state) != GS_K_DONE || !l->enqueued) {
		atomic_store(&l->taken, SHIM_OUT);
		return;
	}
	end_blocked(l); /* first, since a thread may be waiting for it */
	if (learn(l))
		shim_launch_drop(l);
	else
		atomic_store(&l->taken, SHIM_OUT);
}

uint64_t shim_launch_queued_ns(void)
{
	return atomic_load_explicit(&queued_ns, memory_order_relaxed);
}

unsigned int shim_launch_queued_unknown(void)
{
	return atomic_load_explicit(&queued_unknown, memory_order_relaxed);
}

uint64_t shim_launch_queued_in(CUstream stream, unsigned int *unknown)
{
	uint32_t slots = gs_page_slots(page);
	uint64_t ns = 0;

	*unknown = 0;
	for (uint32_t i = 0; i < slots; i++) {
		if (pool[i].queued.in != stream)
			continue;
		ns += pool[i].queued.ns;
		*unknown += pool[i].queued.unknown;
	}
	return ns;
}

int shim_launch_is_alone(const struct shim_launch *l)
{
	uint32_t slots = gs_page_slots(page);

	for (uint32_t i = 0; i < slots; i++)
		if (i != l->index &&
		    atomic_load_explicit(&pool[i].taken, memory_order_relaxed) != SHIM_FREE &&
		    gs_page_load(page->slot[i].state) != GS_K_DONE)
			return 0;
	return 1;
}

void shim_launch_queue(struct shim_launch *l, CUstream stream, uint64_t ns, int unknown)
{
	l->queued.ns = ns;
	l->queued.in = stream;
	atomic_fetch_add(&queued_ns, ns);
	l->queued.unknown = (uint8_t)(unknown != 0);
	if (unknown)
		atomic_fetch_add(&queued_unknown, 1);
}

/* Moves a slot to PREP from any state, while the daemon may write to it as well. Only a stray write
 * by a kernel can produce a state that no transition leaves. */
static void to_prep(struct gs_slot *slot)
{
	static const uint32_t next[GS_K_COUNT] = {
		[GS_K_PREP] = GS_K_PREP,     [GS_K_READY] = GS_K_PREP,
		[GS_K_TORUN] = GS_K_RUNNING, [GS_K_RUNNING] = GS_K_PREP,
		[GS_K_TOEVICT] = GS_K_READY, [GS_K_DONE] = GS_K_PREP,
	};
	uint32_t state;

	while ((state = gs_page_load(slot->state)) != GS_K_PREP)
		gs_slot_move(slot, state, state < GS_K_COUNT ? next[state] : GS_K_PREP);
}

void shim_launch_drop(struct shim_launch *l)
{
	if (l->queued.ns)
		atomic_fetch_sub(&queued_ns, l->queued.ns);
	l->queued.ns = 0;
	if (l->queued.unknown)
		atomic_fetch_sub(&queued_unknown, 1);
	l->queued.unknown = 0;
	if (l->streams.branches)
		shim_channels_join(l->streams.branches);
	l->streams.branches = 0;
	l->enqueued = 0;
	l->preenqueued = 0;
	shim_marker_forget(l);
	to_prep(l->slot);
	atomic_store(&l->taken, SHIM_FREE);
}

void shim_launch_abandon(struct shim_launch *l)
{
	int out = SHIM_OUT;

	if (!atomic_compare_exchange_strong(&l->taken, &out, SHIM_RECLAIMING))
		return;
	if (!l->enqueued) { /* the thread that launches it gets the error */
		atomic_store(&l->taken, SHIM_OUT);
		return;
	}
	end_blocked(l);
	shim_launch_drop(l);
}

unsigned shim_launch_reap(struct shim_session *s)
{
	uint32_t slots = gs_page_slots(s->page);
	unsigned out = 0;

	shim_marker_poll();
	for (uint32_t i = 0; i < slots; i++) {
		if (atomic_load_explicit(&pool[i].taken, memory_order_acquire) == SHIM_FREE)
			continue;
		if (gs_page_load(s->page->slot[i].state) == GS_K_DONE)
			reclaim(&pool[i]);
		else
			out++;
	}
	return out;
}

unsigned shim_launch_enqueued(struct shim_session *s)
{
	uint32_t slots = gs_page_slots(s->page);
	unsigned n = 0;

	for (uint32_t i = 0; i < slots; i++)
		n += atomic_load_explicit(&pool[i].taken, memory_order_acquire) != SHIM_FREE &&
		     (pool[i].enqueued || pool[i].preenqueued);
	return n;
}

/* A launch that was evictable until a moment ago may have been told to leave; after this long its
 * slot shows that. */
#define KEPT_NS GS_NS_PER_MS
static _Atomic uint64_t kept_ns; /* when shim_launch_keep_held() last made one unevictable */

/* From here on the daemon treats the launch as one that cannot leave. leave_ns means something else
 * for those, so it is cleared. */
static void keep(struct gs_slot *slot)
{
	uint32_t flags = gs_page_load(slot->flags);

	gs_page_store(slot->leave_ns, 0);
	while (!atomic_compare_exchange_weak(
		&slot->flags, &flags,
		(flags & ~GS_SLOT_EVICTABLE) | (uint32_t)PTX_REASON_STREAMS << GS_SLOT_WHY_SHIFT))
		;
	atomic_store(&kept_ns, gs_clock_ns());
}

void shim_launch_keep(struct shim_launch *l)
{
	keep(l->slot);
}

int shim_launch_keep_held(void)
{
	uint32_t slots = gs_page_slots(page), held = 0;
	int are = 1;

	for (uint32_t i = 0; i < slots; i++) {
		struct gs_slot *slot = &page->slot[i];
		uint32_t state;

		if (atomic_load_explicit(&pool[i].taken, memory_order_acquire) != SHIM_OUT ||
		    !pool[i].evictable)
			continue;
		held++;
		if (gs_page_load(slot->flags) & GS_SLOT_EVICTABLE)
			keep(slot);
		state = gs_page_load(slot->state);
		are &= state == GS_K_DONE || (state == GS_K_RUNNING && pool[i].enqueued);
	}
	/* If fewer were found than are counted, one is about to begin. */
	return are && held >= atomic_load(&shim_held[0]) &&
	       gs_clock_ns() - atomic_load(&kept_ns) > KEPT_NS;
}

void shim_launch_init(struct gs_page *of)
{
	page = of;
	atomic_store(&queued_ns, 0); /* the queue of a forked child is empty */
	atomic_store(&queued_unknown, 0);
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++) {
		pool[i].queued.ns = 0;
		pool[i].queued.unknown = 0;
		pool[i].streams.branches = 0;
		pool[i].index = i;
		pool[i].slot = &of->slot[i];
		atomic_store(&pool[i].taken, SHIM_FREE);
		shim_marker_forget(&pool[i]);
	}
}

/* Call before the slot leaves PREP: the daemon reads only the slots below this number. */
static void say_used(uint32_t slots)
{
	uint32_t used = gs_page_load(page->used);

	while (used < slots && !atomic_compare_exchange_weak(&page->used, &used, slots))
		;
}

static struct shim_launch *try_take(void)
{
	uint32_t from = atomic_load_explicit(&hint, memory_order_relaxed);

	/* Use the slots of the window in turn, and others only if all of the window are out. */
	for (uint32_t n = 0; n < GS_PAGE_SLOTS; n++) {
		uint32_t i = n < WINDOW ? (from + n) % WINDOW : n;
		struct shim_launch *l = &pool[i];
		int taken = SHIM_FREE;

		if (atomic_load_explicit(&l->taken, memory_order_relaxed) != SHIM_FREE ||
		    !atomic_compare_exchange_strong(&l->taken, &taken, SHIM_OUT))
			continue;
		if (i < WINDOW)
			atomic_store_explicit(&hint, i + 1, memory_order_relaxed);
		say_used(i + 1);
		l->watch.sampled = SHIM_UNTIMED;
		l->evictable = 0;
		l->in_barrier = 0;
		l->preenqueued = 0;
		l->beside = 0;
		l->watch.done_ns = 0;
		l->streams.in = NULL;
		l->as.variant = NULL;
		l->as.guard.endless = l->as.sent = 0;
		l->eviction.signalled_ns = 0;
		l->eviction.signals = 0;
		l->eviction.unwatched = 0;
		l->progress = (struct shim_progress) { 0 };
		return l;
	}
	return NULL;
}

struct shim_launch *shim_launch_take(struct shim_session *s)
{
	static const struct timespec nap = { 0, FULL_POOL_NAP_NS };
	struct shim_launch *l;

	while (!(l = try_take())) {
		shim_launch_reap(s);
		l = try_take();
		if (l)
			break;
		nanosleep(&nap, NULL);
	}
	return l;
}
