/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a launch asks for the time slice, and sleeps until it has it; see grant.h. */
#define _GNU_SOURCE
#include "device/shim/launch/grant.h"

#include "common/clock.h"
#include "device/shim/base/counted.h"

#define GRANT_NAP_NS (100ull * 1000 * 1000)

/* Puts back to READY a slot that has just been moved to RUNNING. The daemon may change it to
 * TOEVICT and back meanwhile, so neither move is sure to succeed at its first try. */
static void give_back(struct gs_slot *slot)
{
	uint32_t state;

	do {
		if (gs_slot_move(slot, GS_K_RUNNING, GS_K_READY) ||
		    gs_slot_move(slot, GS_K_TOEVICT, GS_K_READY))
			return;
		state = gs_page_load(slot->state);
	} while (state == GS_K_RUNNING || state == GS_K_TOEVICT);
}

/* The daemon takes the time slice back first and then reads the slots; the client writes the slot
 * first and then reads the time slice. So at least one of them notices the other. */
int shim_run_with_grant(struct gs_page *page, struct gs_slot *slot, uint32_t from)
{
	if (!gs_page_load(page->grant) || !gs_slot_move(slot, from, GS_K_RUNNING))
		return 0;
	if (atomic_load(&page->grant))
		return 1;
	give_back(slot);
	return 0;
}

/*
 * Count a thread as awake only while its own launch waits: when the daemon lets launches run, it
 * wakes nobody if as many threads count as awake, and so it would skip waking a thread that sleeps.
 * A thread counts from the moment when its launch is READY and the time slice is not here, so that
 * whoever gives the time slice afterwards sees the launch, until the launch runs.
 */
static void count_awake(struct gs_page *page, struct gs_slot *slot, struct shim_wait *w, int is)
{
	if (is && !w->awake)
		is = !atomic_load(&page->grant) && gs_page_load(slot->state) == GS_K_READY;
	if (is != w->awake)
		atomic_fetch_add(&page->awake, is ? 1u : -1u);
	w->awake = is;
}

/* ---- pre-enqueued ------------------------------------------------------------------------ */

/* Not where a program may be told in the end that its launch is not to be: what is in a stream
 * cannot be taken out. */
int shim_grant_may_preenqueue(const struct shim_session *s, const struct shim_launch *l)
{
	return gs_page_load(s->page->preenqueue) && l->ctx->may_preenqueue && l->evictable &&
	       !l->in_barrier && s->absent != GS_ABSENT_FAIL;
}

static void say_preenqueued(struct shim_launch *l)
{
	shim_log("%s waits for its time slice in its stream", l->kernel->code->name);
	atomic_fetch_or(&l->slot->flags, GS_SLOT_PREENQUEUED);
}

/* A launch that has begun is over or has been evicted, whatever its state says now. */
static int has_gone(const struct gs_slot *slot)
{
	uint32_t state = gs_page_load(slot->state);

	return state == GS_K_RUNNING || state == GS_K_TOEVICT || state == GS_K_DONE ||
	       gs_page_load(slot->started);
}

static int let_go(const struct shim_session *s, struct gs_slot *slot)
{
	int ours = shim_session_forsaken(s) || (!s->connected && gs_page_load(s->page->grant));

	if (gs_page_load(slot->state) != GS_K_TORUN && !ours)
		return 0;
	atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED);
	return gs_slot_move(slot, GS_K_TORUN, GS_K_RUNNING) ||
	       (ours && gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
}

int shim_grant_went(const struct shim_session *s, const struct shim_launch *l)
{
	return has_gone(l->slot) || let_go(s, l->slot);
}

/* ---- the wait ---------------------------------------------------------------------------- */

/* Has it been let go?  Then it goes, if nobody was quicker to take the time slice away. */
static int try_to_go(struct shim_session *s, struct shim_launch *l, struct shim_wait *w)
{
	if (l->preenqueued)
		return shim_grant_went(s, l);
	if (gs_page_load(l->slot->state) != GS_K_TORUN && !gs_page_load(s->page->grant))
		return 0;
	count_awake(s->page, l->slot, w, 0);
	return gs_slot_move(l->slot, GS_K_TORUN, GS_K_RUNNING) ||
	       shim_run_with_grant(s->page, l->slot, GS_K_READY);
}

/* Waits until the launch may run. Returns CUDA_SUCCESS, or an error if DaemonAbsent=fail and no
 * daemon is there. */
static CUresult sleep_until_it_goes(struct shim_session *s, struct shim_launch *l,
				    struct shim_wait *w)
{
	struct gs_page *page = s->page;
	uint64_t spin_until = gs_clock_ns() + SHIM_GRANT_SPIN_NS;

	for (;;) {
		uint32_t doorbell = gs_page_load(page->doorbell);

		if (try_to_go(s, l, w))
			return CUDA_SUCCESS;
		if (shim_session_forsaken(s) && !l->preenqueued) {
			if (!s->sent_away)
				shim_session_say_absent(s);
			return CUDA_ERROR_SYSTEM_NOT_READY;
		}
		count_awake(page, l->slot, w, !l->preenqueued);
		if (gs_clock_ns() < spin_until) {
			__builtin_ia32_pause();
			continue;
		}
		/* Do not count as awake before going to sleep. If the daemon then rings without
		 * waking anybody, the doorbell's value has changed and the sleep ends at once. */
		count_awake(page, l->slot, w, 0);
		/* it rang: the time slice is near */
		if (gs_page_wait(page, doorbell, GRANT_NAP_NS) != doorbell)
			spin_until = gs_clock_ns() + SHIM_GRANT_SPIN_NS;
	}
}

int shim_grant_request(struct shim_session *s, struct shim_launch *l, struct shim_wait *w)
{
	*w = (struct shim_wait) { 0, gs_page_load(s->page->attended) == GS_ATTENDED_AWAKE };
	if (shim_run_with_grant(s->page, l->slot, GS_K_PREP))
		return 1;
	shim_counted_note();
	gs_slot_move(l->slot, GS_K_PREP, GS_K_READY);
	count_awake(s->page, l->slot, w, 1);
	/*
	 * Ring now only if the arbiter is awake. A thread that this call woke could take this
	 * processor until the time slice is here, and then it would be too late to pre-enqueue the
	 * launch.
	 */
	if (w->rung)
		gs_client_doorbell(s->client);
	return 0;
}

CUresult shim_grant_wait(struct shim_session *s, struct shim_launch *l, struct shim_wait *w,
			 CUresult rc)
{
	/* It is let go without its thread then: that is awake for nobody, before the daemon hears.
	 */
	if (l->preenqueued && rc == CUDA_SUCCESS) {
		count_awake(s->page, l->slot, w, 0);
		say_preenqueued(l);
	}
	if (!w->rung)
		gs_client_doorbell(s->client);
	if (rc == CUDA_SUCCESS)
		rc = sleep_until_it_goes(s, l, w);
	count_awake(s->page, l->slot, w, 0);
	return rc;
}
