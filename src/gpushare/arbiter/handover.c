/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving and taking the time slice; see handover.h.
 *
 * Taking it is Dekker's handshake. The client writes RUNNING and then reads `grant`; the daemon
 * writes `grant` and then reads the slots; both are sequentially consistent. A launch that slipped
 * through is found by the sweep, which is repeated at each poll of a LEAVING client.
 */
#include "gpushare/arbiter/handover.h"

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/arbiter/account.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/holders.h"
#include "gpushare/arbiter/left_behind.h"
#include "gpushare/arbiter/task.h"

/* A LEAVING client may still have launched before it noticed, so its whole page is polled this
 * often. */
#define FULL_POLL_NS (20 * GS_NS_PER_US)
/* How much longer block-tasks take if the driver switches away from them and back, at most. */
#define INTERRUPTED_NS (2 * GS_NS_PER_MS)
/* A kernel that may be queued behind an evicted one gets twice its own time and this much more to
 * end. */
#define BEHIND_NS (20 * GS_NS_PER_MS)
/*
 * If a kernel was late once and has still not left, its client's later evictions get only this part
 * of the deadline. Its other kernels should leave too, but otherwise the others would get one
 * quantum per EvictDeadline for as long as that kernel lives.
 */
#define STUCK_SHARE 100

void gs_handover_give(struct gs_gpu *gpu, struct gs_gpu_client *t, uint64_t now)
{
	gs_gpu_client_charge(t, 0, now);
	gs_gpu_client_wait_over(t, now);
	gpu->holder = t;
	t->holder_state.told_ns = 0;
	t->holder_state.barred = 0;
	gs_gpu_client_enter(t, GS_RUNNING);
	t->slice.since = gpu->start.since = now;
	gpu->start.beside = 0;
	t->slice.idle_since = 0;
	gs_holders_tell_beside(t);
	gs_gpu_client_grant(t, 1);
	gs_page_doorbell_for(t->p.page, gs_gpu_client_schedule(t));
}

static void wake_leaving(struct gs_gpu *gpu)
{
	struct gs_page *page = gpu->leaving->p.page;

	gs_page_doorbell(page);
	gpu->leave.doorbell = gs_page_load(page->doorbell);
	gpu->leave.rung = 1;
}

/*
 * What seems to be on the GPU may in fact be queued behind an evicted kernel of the same client.
 * Between the "started" marker of a launch and its kernel another thread can enqueue something that
 * waits for that evicted kernel, such as an operation of the legacy default stream or a wait for an
 * event. Such a launch ends only after the client has had its next time slice, so it is not waited
 * for any longer than it could take. (If it does run after all, it runs beside the next client for
 * the rest of its time.)
 */
static int behind(const struct gs_gpu *gpu, const struct gs_gpu_client *t, uint64_t now)
{
	/* The order may have been given after the poll that this judges. */
	uint64_t waited = now > gpu->leave.told_ns ? now - gpu->leave.told_ns : 0;

	return t->found.put_back && t->found.on_gpu == t->found.staying && waited > BEHIND_NS &&
	       waited - BEHIND_NS > 2 * t->found.staying_ns;
}

/* Is nothing of the client on the GPU, and can nothing get there? */
static int drained(const struct gs_gpu *gpu, const struct gs_gpu_client *t, uint64_t now)
{
	uint32_t heard = gs_page_load(t->p.page->heard);

	if (t->stopped)
		return 1; /* it cannot react; what it has on the GPU leaves when it continues */
	if (t->found.on_gpu && !behind(gpu, t, now))
		return 0;
	return !t->found.off_gpu || (int32_t)(heard - gpu->leave.doorbell) >= 0;
}

static void say_late(const struct gs_gpu *gpu, const char *and_so, uint64_t since, uint64_t now)
{
	gs_log(GS_LOG_WARN, "gpu %u: %s: %u kernels have not left after %llu ms; %s", gpu->index,
	       gpu->leaving->p.name, gpu->leaving->found.live - gpu->leaving->found.queued,
	       (unsigned long long)((now - since) / GS_NS_PER_MS), and_so);
}

/* Is it the same as last time that is late: the same launch, or a client that has not acknowledged
 * the doorbell since? */
static int late_again(const struct gs_gpu_client *t)
{
	return t->found.on_gpu ?
		       t->found.requested_ns && t->found.requested_ns == t->late.since_ns :
		       t->late.deaf;
}

static int overdue(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->leaving;
	uint64_t deadline = gpu->o.evict_deadline_ns;
	int again = late_again(t);

	if (now - gpu->leave.since < (again ? deadline / STUCK_SHARE : deadline))
		return 0;
	t->late.untold = gpu->loop.news = 1;
	gs_trace_add(gpu->trace, t->traced, GS_TRACE_OVERDUE, now, now);
	if (again)
		return 1;
	gpu->figures.overdue++;
	t->late.since_ns = t->found.requested_ns;
	t->late.deaf = !t->found.on_gpu;
	say_late(gpu, "the next client runs beside them", gpu->leave.since, now);
	return 1;
}

/* Others do not wait long for such a kernel, but the state may have lasted for long: log it. */
static void say_behind(const struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->leaving;

	if (!t->found.on_gpu || t->stopped || !t->found.requested_ns ||
	    t->found.requested_ns == t->late.since_ns ||
	    now - t->found.requested_ns < gpu->o.evict_deadline_ns)
		return;
	t->late.since_ns = t->found.requested_ns;
	say_late(gpu, "they may be queued behind an evicted kernel", t->found.requested_ns, now);
}

/* The client has left the GPU, or its remaining kernels are left behind: account for it, and tell
 * the scheduler. */
static void drain_done(struct gs_gpu *gpu, int has_left, uint64_t now)
{
	struct gs_gpu_client *t = gpu->leaving;

	gs_gpu_client_charge(t, 1, now);
	if (gpu->leave.evicting && has_left) {
		/* The client may have left in the very step that told it to, so `now` may be too
		 * old. */
		gs_gpu_client_evicted(t, gpu->leave.since, gpu->o.clock ? gpu->o.clock() : now);
		gs_trace_add(gpu->trace, t->traced, GS_TRACE_TELL, gpu->leave.since,
			     gpu->leave.told_ns);
	} else if (gpu->leave.evicting) {
		gs_left_behind_told(t, gpu->leave.since);
	}
	gs_gpu_client_slice_over(t, now);
	gs_gpu_client_enter(t, GS_WAITING);
	gpu->leaving = NULL;
	gpu->start.since = now;
	/* A client that got its time slice before this one had left has covered part of its way to
	 * the GPU already. */
	gpu->start.beside = !has_left || (gpu->holder && gpu->holder->found.on_gpu);
	if (t->task && (!t->found.queued || t->stopped))
		gs_gpu_task_leave(t, now);
	else if (t->task && gpu->leave.stopping)
		gs_sched_stopped(gpu->sched, t->p.id, now);
	if (t->task)
		t->slice.wait_since = now;
	t->dirty = 1; /* a slot that became READY meanwhile makes it a task again */
}

/* Did the latest poll of the LEAVING client find everything that has to leave? */
static int is_all_seen(const struct gs_gpu *gpu, const struct gs_gpu_client *t)
{
	return gpu->leave.polled_ns && !t->found.off_gpu && t->found.on_gpu && !t->stopped;
}

int gs_handover_drain(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->leaving;
	unsigned evicted = 0, changed;
	int out;

	if (is_all_seen(gpu, t) && now - gpu->leave.polled_ns < FULL_POLL_NS &&
	    gs_gpu_client_quiet(t))
		return 0;
	changed = gs_gpu_client_sweep(t, now, &evicted, &gpu->leave.takes_ns);
	if (evicted)
		gpu->leave.told_ns = gpu->o.clock ? gpu->o.clock() : now;
	if (changed)
		wake_leaving(gpu);
	gs_gpu_poll(t, now);
	gpu->leave.polled_ns = now;
	/* A launch that has not started may still start until the client has acknowledged the
	 * doorbell. */
	if (t->found.off_gpu && !gpu->leave.rung)
		wake_leaving(gpu);
	gpu->leave.evicting |= evicted != 0;
	out = drained(gpu, t, now);
	if (!out && gs_holders_stays(gpu, t, now)) {
		drain_done(gpu, 0, now);
		return 1;
	}
	if (out)
		say_behind(gpu, now);
	if (out && !t->stopped)
		t->late.deaf = 0;
	if (out || t->bad.is || overdue(gpu, now)) {
		drain_done(gpu, 1, now);
		return 1;
	}
	return 0;
}

int gs_handover_take(struct gs_gpu *gpu, int stopping, uint64_t now)
{
	struct gs_gpu_client *t = gpu->holder;

	gs_gpu_client_grant(t, 0);
	t->holder_state.barred = 0;
	gpu->leaving = t;
	gs_gpu_client_enter(t, GS_LEAVING);
	gpu->holder = NULL;
	gpu->leave.evicting = gpu->leave.rung = 0;
	gpu->leave.stopping = stopping;
	gpu->leave.since = gpu->leave.told_ns = now;
	gpu->leave.polled_ns = 0;
	gpu->leave.takes_ns = 0;
	/* Gives the order at once, since everybody waits for what it makes leave. */
	return gs_handover_drain(gpu, now) || gs_handover_overlap(gpu, now);
}

/* Are the launches of the next client all in their streams already (GS_SLOT_PREENQUEUED), where
 * each client has a context of its own? */
static int is_next_preenqueued(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *t;
	uint64_t next;

	if (!gpu->o.preenqueue || !gs_sched_peek(gpu->sched, now, &next))
		return 0;
	t = gs_gpu_find(gpu, next);
	return t && t != gpu->leaving && t != gpu->holder && gs_gpu_client_is_preenqueued(t);
}

/*
 * A pre-enqueued launch reaches the GPU at once, so no time of its way can overlap with the last
 * block-tasks. When such launches were released 8 us before the last client should have left, 1 of
 * 16 ran in the middle of that client's block-tasks, which then ended 1.4 ms later (H200); of
 * launches made at that moment it was 1 of 302. So wait up to that long for the client to leave.
 */
static int is_worth_waiting_for(const struct gs_gpu *gpu, uint64_t now)
{
	return gpu->leaving->found.on_gpu &&
	       now - gpu->leave.since < gpu->leave.takes_ns + INTERRUPTED_NS;
}

int gs_handover_overlap(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->leaving;

	if (!gpu->o.overlap_ns || gpu->leave.takes_ns == UINT64_MAX)
		return 0;
	if (gpu->leave.takes_ns > gpu->o.overlap_ns &&
	    now - gpu->leave.since < gpu->leave.takes_ns - gpu->o.overlap_ns)
		return 0;
	if (is_worth_waiting_for(gpu, now) && is_next_preenqueued(gpu, now))
		return 0;
	if (gpu->leave.stopping)
		gs_sched_stopped(gpu->sched, t->p.id, now);
	gpu->leave.stopping = 0;
	return 1;
}
