/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that have the time slice beside the holder; see holders.h. */
#include "gpushare/arbiter/holders.h"

#include "common/clock.h"
#include "gpushare/arbiter/account.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/corun.h"
#include "gpushare/arbiter/equals.h"
#include "gpushare/arbiter/left_behind.h"
#include "gpushare/arbiter/polling.h"
#include "gpushare/arbiter/usage.h"

/* A kernel that takes this many times leave_most_ns to leave was predicted wrongly: the kernel has
 * changed, or its client's page is wrong. */
#define LATE_TIMES 10
/*
 * How far behind an equal a client must be to count as starved by the policy, ns. The default
 * policy is to be fair. A policy that the administrator chose may do what it is for, within the
 * larger bound.
 */
#define STARVED_NS (0.25 * GS_NS_PER_S)
#define STARVED_NAMED_NS (2.0 * GS_NS_PER_S)
/* Who was starved keeps the GPU for so long, or until it is as far as the one that the policy wants
 * instead, so that the GPU does not change hands at each decision. */
#define REPAID_NS (60 * GS_NS_PER_MS)
/* How often the pages are polled: while several clients have the time slice... */
#define POLL_NS (1 * GS_NS_PER_MS)
/* ...while one is held back, or may launch without asking (may_surprise())... */
#define HELD_POLL_NS (100 * GS_NS_PER_US)
/* ...and while one is barred. */
#define BARRED_POLL_NS (20 * GS_NS_PER_US)
/* A barred holder waits at most this long for what its equals have left on the GPU. */
#define BARRED_MOST_NS (100 * GS_NS_PER_MS)

int gs_holders_stays(const struct gs_gpu *gpu, const struct gs_gpu_client *t, uint64_t now)
{
	uint64_t waited = gpu->leaving == t && now > gpu->leave.since ? now - gpu->leave.since : 0;

	return gs_gpu_has_beside(gpu) && gpu->forced != t &&
	       (t->found.staying_out || waited > LATE_TIMES * gpu->o.leave_most_ns);
}

int gs_holders_cannot_leave(const struct gs_gpu_client *t, uint64_t now)
{
	return gs_gpu_has_beside(t->gpu) &&
	       (t->found.staying_live || now < t->holder_state.stays_until);
}

int gs_holders_is_beside(const struct gs_gpu_client *t)
{
	return t != t->gpu->holder && gs_gpu_client_has_slice(t);
}

int gs_holders_share(const struct gs_gpu *gpu)
{
	const struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link)
		if (gs_holders_is_beside(t))
			return 1;
	return gpu->holder && gpu->holder->holder_state.barred;
}

static int is_present(const struct gs_gpu_client *t)
{
	return t != t->gpu->leaving &&
	       (gs_gpu_client_is_out(t) || (gs_gpu_is_holder(t) && t->found.live));
}

struct gs_present gs_holders_present(const struct gs_gpu *gpu)
{
	struct gs_present present = { 0 };
	const struct gs_gpu_client *t;

	if (!gs_gpu_has_beside(gpu))
		return present;
	LIST_FOREACH (t, &gpu->clients, link)
		if (t == gpu->holder)
			present.holder = is_present(t) != 0;
		else
			present.others += is_present(t) != 0;
	return present;
}

/* May kernels of others be on the GPU at the same time as this client's? */
static enum gs_beside beside(const struct gs_gpu_client *t, const struct gs_present *present)
{
	const struct gs_gpu *gpu = t->gpu;
	/* It may have lost its time slice and still have something out that cannot leave. */
	unsigned own = t != gpu->holder && is_present(t);

	if (present->others > own || (present->holder && (own || gs_holders_is_beside(t))))
		return gpu->o.one_context ? GS_BESIDE_TOGETHER : GS_BESIDE_SLICED;
	return GS_BESIDE_NOBODY;
}

void gs_holders_tell_present(struct gs_gpu_client *t, const struct gs_present *present)
{
	struct gs_page *page = t->p.page;
	enum gs_beside is = beside(t, present);
	int came = is != GS_BESIDE_NOBODY && gs_page_load(page->beside) == GS_BESIDE_NOBODY;

	gs_page_tell(page->beside, is);
	if (came)
		gs_page_store(page->besides, gs_page_load(page->besides) + 1);
}

void gs_holders_tell_beside(struct gs_gpu_client *t)
{
	struct gs_present present = gs_holders_present(t->gpu);

	gs_holders_tell_present(t, &present);
}

static double starved_ns(const struct gs_gpu *gpu)
{
	return gpu->o.sched.by_priority ? STARVED_NS : STARVED_NAMED_NS;
}

void gs_holders_repay(struct gs_gpu *gpu, struct gs_gpu_client *t, uint64_t now)
{
	gpu->owed.repaid = t;
	gpu->owed.until_ns = now + REPAID_NS;
}

struct gs_gpu_client *gs_holders_starved(const struct gs_gpu *gpu)
{
	const struct gs_gpu_client *holder = gpu->holder;
	double most = starved_ns(gpu);
	struct gs_gpu_client *t, *worst = NULL;

	if (!gs_gpu_has_beside(gpu) || !holder || !holder->task || gs_gpu_client_is_due(holder))
		return NULL;
	LIST_FOREACH (t, &gpu->clients, link)
		if (t != holder && !gs_holders_is_beside(t) && t != gpu->leaving &&
		    t->found.queued && gs_gpu_client_is_equal(t, holder) &&
		    t->holder_state.joined && gs_usage_lead(holder, t) > most &&
		    (!worst || gs_usage_lead(worst, t) > 0))
			worst = t;
	return worst;
}

static void grant(struct gs_gpu_client *t, uint64_t now)
{
	gs_gpu_client_charge(t, 0, now);
	gs_gpu_client_wait_over(t, now);
	gs_gpu_client_enter(t, GS_RUNNING);
	t->slice.since = now;
	t->holder_state.told_ns = 0;
	t->slice.idle_since = 0;
	gs_holders_tell_beside(t);
	if (!t->holder_state.barred)
		gs_gpu_client_grant(t, 1);
	gs_gpu_client_go(t);
}

static void revoke(struct gs_gpu_client *t, uint64_t now)
{
	gs_gpu_client_charge(t, 1, now);
	gs_gpu_client_slice_over(t, now);
	gs_gpu_client_enter(t, GS_WAITING);
	t->holder_state.barred = 0;
	gs_gpu_client_grant(t, 0);
	gs_left_behind_clear_out(t, now);
	if (t->task)
		t->slice.wait_since = now;
	t->dirty = 1;
}

void gs_holders_swap(struct gs_gpu *gpu, struct gs_gpu_client *next, uint64_t now)
{
	struct gs_gpu_client *holder = gpu->holder;

	if (holder) {
		gs_gpu_client_slice_over(holder, now);
		gs_gpu_client_enter(holder, GS_RUNNING);
		holder->holder_state.barred = 0;
		holder->slice.since = now;
		if (holder->task)
			gs_sched_stopped(gpu->sched, holder->p.id, now);
	}
	gs_gpu_client_slice_over(next, now);
	gpu->holder = next;
	next->slice.since = gpu->start.since = now;
	gpu->start.beside = 1;
	gs_sched_started(gpu->sched, next->p.id, now);
}

/* Does the holder go on although the policy wants this equal, since it has not caught up with it?
 * Not if the equal has waited as long as anybody may. */
static int is_repaid(const struct gs_gpu *gpu, const struct gs_gpu_client *next, uint64_t now)
{
	uint64_t most = gpu->o.sched.starvation_ns, since = next->slice.wait_since;

	return gpu->holder == gpu->owed.repaid && now < gpu->owed.until_ns &&
	       gs_usage_lead(next, gpu->holder) > 0 && !(most && since && now - since >= most);
}

int gs_holders_step_aside(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *holder = gpu->holder, *next;
	uint64_t id;

	if (!holder || !gs_sched_peek(gpu->sched, now, &id))
		return 0;
	next = gs_gpu_find(gpu, id);
	if (!next || gs_gpu_client_compare(next, holder) != 0 ||
	    (!gpu->together && !is_repaid(gpu, next, now)))
		return 0;
	gpu->owed.client = NULL;
	if (gpu->together && gs_holders_is_beside(next) && !next->holder_state.held) {
		gs_holders_swap(gpu, next, now);
		return 1;
	}
	/* The equal waits for its turn at launching, which the policy does not give, or until the
	 * holder has caught up: the holder gets another quantum. */
	gs_sched_stopped(gpu->sched, holder->p.id, now);
	gs_sched_started(gpu->sched, holder->p.id, now);
	return 1;
}

/*
 * Are this client's kernels too slow to leave for an equal to take turns with it? Under MPS the
 * bound is leave_most_ns itself, since turns save no time slices there.
 */
static int lasts(const struct gs_gpu_client *t, uint64_t now)
{
	if (t->gpu->o.one_context)
		return gs_holders_cannot_leave(t, now);
	return gs_gpu_has_beside(t->gpu) &&
	       (t->found.lasting_live || now < t->holder_state.lasts_until);
}

/* Do the equals of this client share the GPU? They do if several have something to do and the
 * kernels of one of them are too slow to leave for turns, or if each has a part of it. */
static int are_together(const struct gs_gpu *gpu, const struct gs_gpu_client *of, uint64_t now)
{
	unsigned equals = 0, staying = 0;
	const struct gs_gpu_client *t;

	if (gs_gpu_corun_is_on(gpu))
		return 1;

	LIST_FOREACH (t, &gpu->clients, link) {
		if (!gs_gpu_client_is_equal(t, of) || t->p.force_ns)
			continue;
		equals++;
		staying += lasts(t, now);
	}
	return equals > 1 && staying;
}

/*
 * May this client have the time slice beside `of` until further notice? Only if it is more urgent
 * and `of` has kernels that it does not wait for, or if it is an equal that wants the GPU while the
 * equals share it (`together`). It then launches without asking; the frequent polls find what it
 * does.
 */
static int may_launch(const struct gs_gpu_client *t, const struct gs_gpu_client *of, int together,
		      uint64_t now)
{
	int urgency = gs_gpu_client_compare(t, of);

	if (t->stopped || t->bad.is || urgency < 0 || (!t->task && !gs_gpu_client_uses(t, now)))
		return 0;
	/* The next launch may be a less urgent one, so it has to ask. */
	if (urgency > 0 && !t->found.live && gs_page_load(t->p.page->priorities.used))
		return 0;
	return urgency == 0 ? t->task && together : gs_holders_cannot_leave(of, now);
}

/* Must this equal wait: for its turn at launching, or because it is ahead of another one? */
static int waits(const struct gs_gpu *gpu, struct gs_gpu_client *t, struct gs_gpu_client *least,
		 const struct gs_gpu_client *launcher, uint64_t now)
{
	if (launcher)
		t->holder_state.held = t != launcher;
	return launcher ? t != launcher : gs_equals_held(gpu, t, least, now);
}

/* Has an equal something on the GPU that is left from its turn at launching, other than kernels
 * that leave half of the GPU to others? */
static int are_others_out(const struct gs_gpu *gpu, const struct gs_gpu_client *of, uint64_t now)
{
	const struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link)
		if (t != of && !t->stopped && !t->bad.is && gs_gpu_client_compare(t, of) == 0 &&
		    ((gs_gpu_client_is_out(t) &&
		      t->found.on_gpu + t->found.off_gpu > t->found.waiting) ||
		     gs_usage_has_tail(t, now)))
			return 1;
	return 0;
}

/* If the holder must wait, makes another client the holder; the old one has the time slice beside
 * it until the loop in gs_holders_step() revokes it. */
static void block_holder(struct gs_gpu *gpu, struct gs_gpu_client *least,
			 struct gs_gpu_client *launcher, uint64_t now)
{
	struct gs_gpu_client *holder = gpu->holder, *next = launcher ? launcher : least;

	if (!holder || gpu->leaving || !next || next == holder || !next->task ||
	    !waits(gpu, holder, least, launcher, now))
		return;
	if (!gs_holders_is_beside(next)) {
		next->holder_state.barred = launcher && are_others_out(gpu, next, now);
		next->holder_state.barred_ns = now;
		grant(next, now);
	}
	gs_holders_swap(gpu, next, now);
}

/* Lets a barred client launch once what its equals had left on the GPU has ended, or has lasted too
 * long to wait for. */
static void unbar(struct gs_gpu *gpu, struct gs_gpu_client *t, const struct gs_gpu_client *launcher,
		  uint64_t now)
{
	if (!t->holder_state.barred ||
	    ((!launcher || t == launcher) && are_others_out(gpu, t, now) &&
	     now - t->holder_state.barred_ns < BARRED_MOST_NS))
		return;
	t->holder_state.barred = 0;
	if (!gs_gpu_client_has_slice(t))
		return;
	gs_holders_tell_beside(t);
	gs_gpu_client_grant(t, 1);
	gs_gpu_client_go(t);
}

void gs_holders_step(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *of = gpu->holder ? gpu->holder : gpu->leaving, *least = NULL, *t;
	struct gs_gpu_client *launcher;
	int together;

	gs_usage_step(gpu, now);
	gs_gpu_corun_step(gpu, of, now);
	together = of && gs_gpu_has_beside(gpu) && !of->stopped && are_together(gpu, of, now);
	gpu->together = together;
	launcher = gs_equals_next(gpu, of, together && !gs_gpu_corun_is_on(gpu), now);
	if (together && !gs_gpu_corun_is_on(gpu)) {
		least = gs_usage_least(gpu, of, now);
		block_holder(gpu, least, launcher, now);
	}
	LIST_FOREACH (t, &gpu->clients, link) {
		int may;

		if (!together)
			t->holder_state.held = 0;
		unbar(gpu, t, launcher, now);
		if (gs_gpu_has_beside(gpu) && t != gpu->leaving)
			gs_left_behind_find_stuck(t, now);
		if (t == gpu->holder || t == gpu->leaving)
			continue;
		may = of && gs_gpu_has_beside(gpu) && may_launch(t, of, together, now) &&
		      !(gs_gpu_client_compare(t, of) == 0 && waits(gpu, t, least, launcher, now));
		if (may && !gs_holders_is_beside(t))
			grant(t, now);
		else if (!may && gs_holders_is_beside(t))
			revoke(t, now);
		else if (!may && gs_gpu_has_beside(gpu))
			gs_left_behind_check(t, now);
	}
}

/* Under MPS: may this client launch without asking, and are less urgent kernels on the GPU? They
 * are told to leave once its launch has been seen. In contexts the driver's time slices serve it
 * until then. */
static int may_surprise(const struct gs_gpu_client *t, uint64_t now)
{
	const struct gs_gpu_client *other;

	if (!t->gpu->o.one_context || t->found.live || !gs_gpu_client_uses(t, now) ||
	    !gs_gpu_client_has_slice(t))
		return 0;
	LIST_FOREACH (other, &t->gpu->clients, link)
		if (other->found.on_gpu && gs_gpu_client_compare(t, other) > 0)
			return 1;
	return 0;
}

uint64_t gs_holders_next(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *t;
	uint64_t next = gs_gpu_corun_next(gpu, now), poll = 0;

	LIST_FOREACH (t, &gpu->clients, link) {
		if (t->holder_state.barred)
			return now + gs_polling_poll(gpu, BARRED_POLL_NS);
		if (t->holder_state.held || may_surprise(t, now))
			poll = HELD_POLL_NS;
		else if ((gs_holders_is_beside(t) || t->holder_state.told_ns) && !poll)
			poll = POLL_NS;
	}
	poll = poll ? now + gs_polling_poll(gpu, poll) : UINT64_MAX;
	return poll < next ? poll : next;
}
