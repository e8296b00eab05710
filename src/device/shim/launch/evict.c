/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client's side of an eviction: when to tell a launch to leave, and relaunches; see evict.h. */
#define _GNU_SOURCE
#include "device/shim/launch/evict.h"

#include <inttypes.h>

#include "common/clock.h"
#include "device/shim/context/fault.h"
#include "device/shim/context/part.h"
#include "device/shim/launch/enqueue.h"
#include "device/shim/launch/force.h"
#include "device/shim/launch/grant.h"
#include "device/shim/launch/signals.h"
#include "device/shim/variant/transforms.h"

/*
 * How long the agent sleeps: while an eviction is under way, while launches are out, and otherwise.
 */
#define NAP_EVICTING_NS (1 * GS_NS_PER_MS)
#define NAP_BUSY_NS (1 * GS_NS_PER_MS)
#define NAP_IDLE_NS (100 * GS_NS_PER_MS)
/*
 * A signal may have been overwritten by the launch's own writes to its control block, so it is sent
 * again: once, and repeatedly once the kernel has started. It is not repeated for ever for a kernel
 * that has not started, which may wait behind another one for a neighbour's whole time slice: for
 * each signal the driver would switch to this context.
 */
#define RESEND_NS (1 * GS_NS_PER_MS)
#define SIGNALS_UNSTARTED 2
/* How long it may take to notice that a fault has ended a kernel. */
#define FAULT_POLL_NS (10 * GS_NS_PER_MS)
#define RETRY_NS (10 * GS_NS_PER_MS)

/*
 * Tells a launch in TOEVICT to leave, by setting its resident limit to 0. The launch's own writes
 * to its control block may still wait in its stream and overwrite the signal, so it is repeated. A
 * proxy notices TOEVICT by itself, but only once its kernel has started, and a launch that has not
 * begun should leave at once. A watcher may be queued behind the watcher of a kernel in another
 * stream.
 */
static void signal_eviction(struct shim_evictor *e, struct shim_launch *l, uint64_t now)
{
	int started = gs_page_load(l->slot->started) != 0;

	if (l->eviction.signalled_ns && (now - l->eviction.signalled_ns < RESEND_NS ||
					 (!started && l->eviction.signals >= SIGNALS_UNSTARTED)))
		return;
	if (!l->as.proxy || !started ||
	    (l->eviction.signalled_ns && l->as.transform->doubtful_proxy))
		shim_signals_set(e, l, 1);
	l->eviction.signals = started ? 0 : l->eviction.signals + 1;
	l->eviction.signalled_ns = now;
}

/*
 * The launch became RUNNING again before it had started. If the kernel has begun meanwhile, it
 * leaves and is relaunched. An order that must stand is not lifted here, since the kernel may begin
 * at any moment: either lift_orders_behind() has lifted it, or the kernel starts only to leave.
 */
static void call_back(struct shim_evictor *e, struct shim_launch *l)
{
	if (!l->as.transform->order_stands)
		shim_signals_set(e, l, 0);
	l->eviction.signalled_ns = 0;
	l->eviction.signals = 0;
	l->eviction.unwatched = 1;
}

/* Its slot may have got another launch, in another context or as written, at any moment. */
static int is_out_in(const struct shim_launch *l, const struct shim_context *c)
{
	return atomic_load_explicit(&l->taken, memory_order_acquire) == SHIM_OUT && l->enqueued &&
	       l->evictable && gs_page_load(l->slot->state) == GS_K_RUNNING && l->ctx == c;
}

/*
 * Gives those that were called back a watcher again: theirs has left when it saw the order.
 * Watchers have one stream, so they go out in the order of their launches, and after those of the
 * launches that were relaunched.
 */
static void watch_again(struct shim_evictor *e)
{
	uint32_t slots = gs_page_slots(e->session->page);

	for (;;) {
		struct shim_launch *first = NULL;

		for (uint32_t i = 0; i < slots; i++) {
			struct shim_launch *l = shim_launch_at(i);

			if (l->eviction.unwatched &&
			    (!first || gs_page_load(l->slot->seq) < gs_page_load(first->slot->seq)))
				first = l;
		}
		if (!first)
			return;
		first->eviction.unwatched = 0;
		if (is_out_in(first, first->ctx) && shim_evictor_enter(e, first->ctx) == 0 &&
		    is_out_in(first, e->current))
			shim_watch_variant(first);
	}
}

/* Is l queued behind `first` in its stream? Then it cannot begin before `first`, which has left, is
 * relaunched. */
static int is_behind(const struct shim_launch *l, const struct shim_launch *first)
{
	uint32_t state = gs_page_load(l->slot->state);

	return (state == GS_K_RUNNING || state == GS_K_TOEVICT) &&
	       !gs_page_load(l->slot->started) &&
	       atomic_load_explicit(&l->taken, memory_order_acquire) == SHIM_OUT && l->enqueued &&
	       l->evictable && l->ctx == first->ctx &&
	       l->streams.blocked == first->streams.blocked &&
	       l->streams.destroyed == first->streams.destroyed;
}

/*
 * Before `first` is relaunched, lifts the orders that were given to launches behind it in its
 * stream: they have their time slice again, too, and the order would have each of them start only
 * to leave. This is the last moment at which an order that must stand can be lifted. One that is
 * still in TOEVICT will be called back at once, so it is not told again before RESEND_NS.
 */
static void lift_orders_behind(struct shim_evictor *e, struct shim_launch *first, uint64_t now)
{
	uint32_t slots = gs_page_slots(e->session->page);

	for (uint32_t i = 0; i < slots; i++) {
		struct shim_launch *l = shim_launch_at(i);
		struct shim_signal to;

		if (l == first || !is_behind(l, first) || !l->as.transform->order_stands)
			continue;
		l->as.transform->signal(l, &to);
		if (__atomic_load_n(to.image, __ATOMIC_ACQUIRE) == to.stay)
			continue;
		shim_signals_set(e, l, 0);
		l->eviction.signalled_ns = now;
		l->eviction.signals = 0;
		first->eviction.unsettled = 1; /* so that the relaunch waits for these writes */
	}
}

/*
 * Lifts the limit before the relaunch, and orders the relaunch behind every signal that was given.
 * A late signal (of several repeated ones, while another process had the GPU) would tell the
 * relaunched kernel to leave, and every later one, since nothing would ever lift it.
 */
static CUresult settle_limit(struct shim_evictor *e, struct shim_launch *l)
{
	struct shim_context *c = l->ctx;
	CUresult rc;

	shim_signals_set(e, l, 0);
	rc = shim_signals_flush(e);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuEventRecord)(c->event[SHIM_SETTLED], c->control);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamWaitEvent)(c->relaunch, c->event[SHIM_SETTLED], 0);
	if (rc == CUDA_SUCCESS)
		l->eviction.unsettled = c->state.part_unsettled = 0;
	return rc;
}

/* Prepares a relaunch: lifts the order to leave, through the relaunch stream, and restores the
 * progress. */
static CUresult lift_limit(struct shim_evictor *e, struct shim_launch *l, uint64_t now)
{
	struct shim_signal to;
	CUresult rc = CUDA_SUCCESS;

	l->eviction.signalled_ns = 0;
	l->eviction.signals = 0;
	lift_orders_behind(e, l, now);
	l->as.transform->signal(l, &to);
	if (l->eviction.unsettled || l->ctx->state.part_unsettled ||
	    __atomic_load_n(to.image, __ATOMIC_ACQUIRE) != to.stay)
		rc = settle_limit(e, l);
	if (rc == CUDA_SUCCESS)
		rc = l->as.transform->resume(e->session, l);
	if (rc == CUDA_SUCCESS && gs_page_load(l->slot->flags) & GS_SLOT_EVICTABLE)
		gs_page_store(l->slot->leave_ns, shim_request_leave_ns(l));
	return rc;
}

/*
 * Moves the slot to RUNNING if it may run. If no daemon will ever give a time slice again
 * (DaemonAbsent=fail), what the program has launched before still runs, evicted or not: the launch
 * has been answered with success and its stream waits for it, so no call could report an error any
 * more. The next launch gets the error.
 */
static int let_go(struct shim_session *s, struct gs_slot *slot)
{
	return gs_slot_move(slot, GS_K_TORUN, GS_K_RUNNING) ||
	       shim_run_with_grant(s->page, slot, GS_K_READY) ||
	       (shim_session_forsaken(s) && gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
}

/* A kernel whose launches are all evicted is never measured, and without a time it counts as one
 * that cannot leave. How long a relaunch took until it left is an upper bound for what it did,
 * which is better than nothing. A first launch does not count, since it may have waited in its
 * stream, nor does a guarded kernel, whose relaunch has blocks that only leave. */
static void learn_from_eviction(struct shim_launch *l, uint64_t done)
{
	const struct shim_progress *p = &l->progress;
	double ns = (double)p->left_ns - (double)p->out_ns;

	if (!l->time->tpt_ps && l->as.transform->divides && atomic_load(&l->slot->evictions) > 1 &&
	    done > p->began && ns > 0)
		shim_time_learn(l->time, (uint64_t)(ns * 1e3 / (double)(done - p->began)),
				SHIM_TIMED, 1, GS_BESIDE_SLICED);
}

/* The launch was evicted and is scheduled again: launches the variant once more, from its task
 * counter on. */
static void relaunch(struct shim_evictor *e, struct shim_launch *l, uint64_t now)
{
	uint64_t done = gs_page_load(l->slot->done);
	CUresult rc = CUDA_SUCCESS;

	if (now < l->progress.retry_ns || shim_evictor_enter(e, l->ctx) < 0)
		return;
	gs_page_store(l->slot->started, 0);
	if (!let_go(e->session, l->slot)) {
		gs_page_store(l->slot->started,
			      /* restore it, so that the daemon knows that the agent and no thread
			       * waits for this launch */
			      1);
		return;
	}
	atomic_fetch_add(&l->slot->evictions, 1);
	atomic_fetch_add(&l->kernel->evictions, 1);
	learn_from_eviction(l, done);
	if (l->as.guard.endless) /* the last try has left the kernel in the stream */
		gs_page_store(l->slot->started, 1);
	else
		rc = lift_limit(e, l, now);
	if (rc == CUDA_SUCCESS) {
		shim_watch_variant(l);
		rc = shim_launch_variant(l, l->ctx->relaunch);
	}
	if (rc == CUDA_SUCCESS) {
		l->progress.out_ns = now;
		l->progress.began = done;
		l->progress.left_ns = 0;
		shim_log("%s goes on from block-task %" PRIu64 " of %" PRIu64
			 ", relaunched in %" PRIu64 " us, leaves within %" PRIu64 " us",
			 l->kernel->code->name, done, l->nt, (gs_clock_ns() - now) / GS_NS_PER_US,
			 gs_page_load(l->slot->leave_ns) / GS_NS_PER_US);
		return;
	}
	shim_log("relaunch of %s failed and is tried again: driver error %d", l->kernel->code->name,
		 rc);
	shim_fault_seen(l->ctx, rc);
	l->progress.retry_ns = now + RETRY_NS;
	if (!gs_slot_move(l->slot, GS_K_RUNNING, GS_K_READY))
		gs_slot_move(l->slot, GS_K_TOEVICT, GS_K_READY);
	gs_client_doorbell(e->session->client);
}

/* Checks from time to time, while launches are out, whether the context has failed. */
static int context_failed(struct shim_evictor *e, struct shim_context *c, uint64_t now)
{
	if (!c->fault && now - c->state.polled_ns >= FAULT_POLL_NS &&
	    shim_evictor_enter(e, c) == 0) {
		c->state.polled_ns = now;
		shim_fault_poll(c);
	}
	return c->fault != CUDA_SUCCESS;
}

/*
 * Does what launch l needs if it is out; shortens *nap to the time when it must be inspected again.
 */
static void read_slot(struct shim_evictor *e, struct shim_launch *l, uint64_t now, uint64_t *nap)
{
	uint32_t state;

	if (atomic_load_explicit(&l->taken, memory_order_acquire) != SHIM_OUT)
		return;
	state = gs_page_load(l->slot->state);
	if (*nap > NAP_BUSY_NS)
		*nap = NAP_BUSY_NS;
	/* A kernel that a fault has ended writes neither its slot nor the word that its stream
	 * waits for. */
	if (l->enqueued && state != GS_K_DONE && context_failed(e, l->ctx, now)) {
		shim_launch_abandon(l);
		return;
	}
	if (!l->evictable || (!l->enqueued && state != GS_K_TOEVICT))
		return;
	if (state == GS_K_TOEVICT) {
		if (!shim_force_counts(e->session))
			signal_eviction(e, l, now);
		*nap = NAP_EVICTING_NS;
	}
	if (state == GS_K_RUNNING && l->eviction.signalled_ns)
		call_back(e, l);
	e->waits |= state == GS_K_READY;
	if (state == GS_K_READY && !l->progress.left_ns)
		l->progress.left_ns = now;
	/* A READY launch need not ask if the time slice is here already, or is this client's own
	 * since no daemon is there. */
	if (state == GS_K_TORUN || (state == GS_K_READY && (gs_page_load(e->session->page->grant) ||
							    shim_session_forsaken(e->session))))
		relaunch(e, l, now);
}

/* All contexts hear of it, since a kernel of any may go out before the next inspection. */
static void tell_parts(struct shim_evictor *e)
{
	for (struct shim_context *c = shim_context_first(); c; c = c->next)
		if (c->image && shim_part_is_old(e->session, c) && shim_evictor_enter(e, c) == 0)
			shim_part_tell(e->session, c);
}

/* Launches on the GPU come first, since those queued behind them can wait. */
uint64_t shim_evictor_inspect(struct shim_evictor *e)
{
	uint64_t now = gs_clock_ns(), nap = NAP_IDLE_NS;
	uint32_t slots = gs_page_slots(e->session->page);

	e->waits = 0;
	tell_parts(e);
	for (int started = 1; started >= 0; started--) {
		for (uint32_t i = 0; i < slots; i++)
			if ((gs_page_load(e->session->page->slot[i].started) != 0) == started)
				read_slot(e, shim_launch_at(i), now, &nap);
		shim_signals_flush(e);
	}
	watch_again(e);
	shim_evictor_leave(e);
	return nap;
}
