/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent thread; see agent.h.  It sleeps on the page's doorbell. */
#define _GNU_SOURCE
#include "device/shim/launch/agent.h"

#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/slice.h"
#include "common/thread.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/fault.h"
#include "device/shim/launch/enqueue.h"
#include "device/shim/launch/force.h"
#include "device/shim/launch/grant.h"
#include "device/shim/variant/transforms.h"
#include "device/shim/launch/pool.h"
#include "device/shim/launch/request.h"
#include "device/shim/launch/untracked.h"

/* How long it sleeps: with an eviction out, with launches out, with neither. */
#define NAP_EVICTING_NS (1 * GS_NS_PER_MS)
#define NAP_BUSY_NS (1 * GS_NS_PER_MS)
#define NAP_IDLE_NS (100 * GS_NS_PER_MS)
/*
 * A signal that may have been overtaken by the launch's own copy is sent again: once, and for as
 * long as it takes when the kernel has started all the same. Not for ever while it waits behind
 * another one, perhaps for a neighbour's whole turn: each time the driver would switch to us for
 * it.
 */
#define RESEND_NS (1 * GS_NS_PER_MS)
#define SIGNALS_UNSTARTED 2
/* How long a kernel that a fault has ended may go unnoticed. */
#define FAULT_POLL_NS (10 * GS_NS_PER_MS)
/* How long the daemon does not hear of launches without a slot, at first and at most; how long it
 * is tried in the end. */
#define TELL_FIRST_NS (50 * GS_NS_PER_MS)
#define TELL_NS (1 * GS_NS_PER_S)
#define TELL_LAST_NS (200 * GS_NS_PER_MS)
#define RETRY_NS (10 * GS_NS_PER_MS)
#define RECONNECT_NS (250 * GS_NS_PER_MS)
#define RECONNECT_MAX_NS (10 * GS_NS_PER_S)
#define RECONNECT_TIMEOUT_MS 1000

struct agent {
	struct shim_session *session;
	struct shim_context *current; /* not its handle, which another may have got since */
	struct shim_context *in;      /* uses it, until it has looked at everything */
	int waits;                    /* an evicted kernel waits for its time slice */
	uint32_t heard;               /* the doorbell at the last look */
	uint64_t tell_ns;             /* when the daemon is told of untracked launches next */
	uint64_t tell_step_ns;        /* doubles: a program may be over soon */
	int tell_anyway;              /* the daemon is a new one */
	uint64_t reconnect_ns;        /* not before */
	uint64_t reconnect_step_ns;   /* doubles while a daemon refuses us */
	/* Resident limits to set, in one submission to a context's control stream. */
	CUstreamBatchMemOpParams limit[GS_PAGE_SLOTS];
	unsigned int nlimit;
	struct shim_context *limit_ctx;
};

static pthread_t thread;

static void leave(struct agent *a)
{
	if (a->in)
		shim_context_unuse(a->in);
	a->in = NULL;
}

static int enter(struct agent *a, struct shim_context *c)
{
	CUstreamCaptureMode mode;
	CUresult rc;

	if (a->in != c) {
		leave(a);
		if (!shim_context_use(c))
			return -1;
		a->in = c;
	}
	if (a->current != c) {
		rc = REAL(cuCtxSetCurrent)(c->ctx);
		shim_fault_seen(c, rc);
		if (rc != CUDA_SUCCESS)
			return -1;
		shim_capture_relax(&mode); /* for good: it makes no call of the program's */
		a->current = c;
	}
	return 0;
}

/* The same by copies from pinned memory (FRS, section III-A). */
static CUresult copy_limits(const struct agent *a)
{
	CUresult rc = CUDA_SUCCESS;

	for (unsigned int i = 0; i < a->nlimit && rc == CUDA_SUCCESS; i++) {
		uint32_t *word = a->limit_ctx->word;

		while (*word != a->limit[i].writeValue.value)
			word++;
		rc = REAL(cuMemcpyHtoDAsync_v2)(a->limit[i].writeValue.address, word, sizeof(*word),
						a->limit_ctx->control);
	}
	return rc;
}

static CUresult flush_limits(struct agent *a)
{
	CUresult rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;

	if (!a->nlimit)
		return CUDA_SUCCESS;
	if (enter(a, a->limit_ctx) == 0)
		rc = a->session->signal == GS_SIGNAL_DMA && a->limit_ctx->word ?
			     copy_limits(a) :
			     REAL(cuStreamBatchMemOp_v2)(a->limit_ctx->control, a->nlimit, a->limit,
							 0);
	shim_fault_seen(a->limit_ctx, rc);
	if (rc != CUDA_SUCCESS)
		shim_log("%u resident limits could not be set: %d", a->nlimit, rc);
	a->nlimit = 0;
	return rc;
}

/* The image is what the slot's next launch compares with: it will know what is left behind. */
static void set_limit(struct agent *a, struct shim_launch *l, int leave)
{
	struct shim_signal to;
	uint32_t value;

	l->as.transform->signal(l, &to);
	value = leave ? to.leave : to.stay;
	if (a->limit_ctx != l->ctx)
		flush_limits(a);
	a->limit_ctx = l->ctx;
	__atomic_store_n(to.image, value, __ATOMIC_RELEASE);
	a->nlimit = shim_write_op(a->limit, a->nlimit, 32, to.word, value);
	l->eviction.unsettled |= leave;
}

/*
 * TOEVICT: the resident limit becomes 0.  The launch's own writes to its control
 * block may still be waiting in its stream and may bring a limit along, so the
 * signal is repeated.  A proxy sees TOEVICT by itself, but only once its kernel has
 * started: what has not begun is to leave at once.  A watcher may be behind that of a
 * kernel in another stream, or have gone when the kernel was called back.
 */
static void signal_eviction(struct agent *a, struct shim_launch *l, uint64_t now)
{
	int started = gs_page_load(l->slot->started) != 0;

	if (l->eviction.signalled_ns && (now - l->eviction.signalled_ns < RESEND_NS ||
					 (!started && l->eviction.signals >= SIGNALS_UNSTARTED)))
		return;
	if (!l->as.proxy || !started ||
	    (l->eviction.signalled_ns && l->as.transform->doubtful_proxy))
		set_limit(a, l, 1);
	l->eviction.signals = started ? 0 : l->eviction.signals + 1;
	l->eviction.signalled_ns = now;
}

/* RUNNING again before it had started: if the GPU is faster, it leaves and is relaunched. */
static void call_back(struct agent *a, struct shim_launch *l)
{
	set_limit(a, l, 0);
	l->eviction.signalled_ns = 0;
	l->eviction.signals = 0;
}

/*
 * No limit any more, before what follows in the relaunch stream, and behind every
 * signal that was given: one that is late (of several repeated ones, while another
 * process had the GPU) would tell the relaunched kernel to leave, and the next
 * one, for ever, since nobody would lift what nobody knows of.
 */
static CUresult settle_limit(struct agent *a, struct shim_launch *l)
{
	struct shim_context *c = l->ctx;
	CUresult rc;

	set_limit(a, l, 0);
	rc = flush_limits(a);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuEventRecord)(c->event[SHIM_SETTLED], c->control);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamWaitEvent)(c->relaunch, c->event[SHIM_SETTLED], 0);
	if (rc == CUDA_SUCCESS)
		l->eviction.unsettled = 0;
	return rc;
}

/* No order for a relaunch, which goes on where it left: through the stream in which it goes out. */
static CUresult lift_limit(struct agent *a, struct shim_launch *l)
{
	struct shim_signal to;
	CUresult rc = CUDA_SUCCESS;

	l->eviction.signalled_ns = 0;
	l->eviction.signals = 0;
	l->as.transform->signal(l, &to);
	if (l->eviction.unsettled || __atomic_load_n(to.image, __ATOMIC_ACQUIRE) != to.stay)
		rc = settle_limit(a, l);
	if (rc == CUDA_SUCCESS)
		rc = l->as.transform->resume(a->session, l);
	if (rc == CUDA_SUCCESS && gs_page_load(l->slot->flags) & GS_SLOT_EVICTABLE)
		gs_page_store(l->slot->leave_ns, shim_request_leave_ns(l));
	return rc;
}

/*
 * Where nobody gives a turn again, what the program has launched before ends all the same, evicted
 * or not: the launch has been answered, its stream waits for it, and no call could tell the program
 * that it is never to be.  The next launch gets the error.
 */
static int let_go(struct shim_session *s, struct gs_slot *slot)
{
	return gs_slot_move(slot, GS_K_TORUN, GS_K_RUNNING) ||
	       shim_run_with_grant(s->page, slot, GS_K_READY) ||
	       (shim_session_forsaken(s) && gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
}

/* Evicted and scheduled again: the variant goes out once more, from its task counter on. */
static void relaunch(struct agent *a, struct shim_launch *l, uint64_t now)
{
	uint64_t done = gs_page_load(l->slot->done);
	CUresult rc;

	if (now < l->progress.retry_ns || enter(a, l->ctx) < 0)
		return;
	gs_page_store(l->slot->started, 0);
	if (!let_go(a->session, l->slot)) {
		gs_page_store(l->slot->started,
			      1); /* as it was: so the daemon knows that it is ours to let go */
		return;
	}
	atomic_fetch_add(&l->slot->evictions, 1);
	atomic_fetch_add(&l->kernel->evictions, 1);
	rc = lift_limit(a, l);
	if (rc == CUDA_SUCCESS)
		rc = shim_launch_variant(l, l->ctx->relaunch);
	if (rc == CUDA_SUCCESS) {
		l->progress.out_ns = now;
		l->progress.began = done;
		l->progress.left_ns = 0;
		shim_log("%s goes on from block-task %" PRIu64 " of %" PRIu64
			 ", relaunched in %" PRIu64 " us",
			 l->kernel->code->name, done, l->nt, (gs_clock_ns() - now) / GS_NS_PER_US);
		return;
	}
	shim_log("relaunch of %s failed: %d", l->kernel->code->name, rc);
	shim_fault_seen(l->ctx, rc);
	l->progress.retry_ns = now + RETRY_NS;
	if (!gs_slot_move(l->slot, GS_K_RUNNING, GS_K_READY))
		gs_slot_move(l->slot, GS_K_TOEVICT, GS_K_READY);
	gs_client_doorbell(a->session->client);
}

/* Asked for now and then while launches are out. */
static int context_failed(struct agent *a, struct shim_context *c, uint64_t now)
{
	if (!c->fault && now - c->polled_ns >= FAULT_POLL_NS && enter(a, c) == 0) {
		c->polled_ns = now;
		shim_fault_poll(c);
	}
	return c->fault != CUDA_SUCCESS;
}

/* What launch l needs done, if it is out; shortens *nap to when it must be looked at again. */
static void read_slot(struct agent *a, struct shim_launch *l, uint64_t now, uint64_t *nap)
{
	uint32_t state;

	if (atomic_load_explicit(&l->taken, memory_order_acquire) != SHIM_OUT)
		return;
	state = gs_page_load(l->slot->state);
	if (*nap > NAP_BUSY_NS)
		*nap = NAP_BUSY_NS;
	/* What a fault has ended tells nobody: not the slot, nor the stream that waits for it. */
	if (l->enqueued && state != GS_K_DONE && context_failed(a, l->ctx, now)) {
		shim_launch_abandon(l);
		return;
	}
	if (!l->evictable || (!l->enqueued && state != GS_K_TOEVICT))
		return;
	if (state == GS_K_TOEVICT) {
		if (!shim_force_counts(a->session))
			signal_eviction(a, l, now);
		*nap = NAP_EVICTING_NS;
	}
	if (state == GS_K_RUNNING && l->eviction.signalled_ns)
		call_back(a, l);
	a->waits |= state == GS_K_READY;
	if (state == GS_K_READY && !l->progress.left_ns)
		l->progress.left_ns = now;
	/* READY: with the time slice (our own, if no daemon is there) it need not be asked for. */
	if (state == GS_K_TORUN || (state == GS_K_READY && (gs_page_load(a->session->page->grant) ||
							    shim_session_forsaken(a->session))))
		relaunch(a, l, now);
}

/*
 * One look at every launch that is out; returns how long the agent may sleep.
 * Those on the GPU first: the ones queued behind them can wait.
 */
static uint64_t inspect(struct agent *a)
{
	uint64_t now = gs_clock_ns(), nap = NAP_IDLE_NS;
	uint32_t slots = gs_page_slots(a->session->page);

	a->waits = 0;
	for (int started = 1; started >= 0; started--) {
		for (uint32_t i = 0; i < slots; i++)
			if ((gs_page_load(a->session->page->slot[i].started) != 0) == started)
				read_slot(a, shim_launch_at(i), now, &nap);
		flush_limits(a);
	}
	leave(a);
	return nap;
}

/*
 * The daemon would take the time slice now; nobody else writes it meanwhile.  What is on
 * the GPU ends, and the next launch finds that the time slice is over.
 */
static void return_grant(struct shim_session *s)
{
	atomic_store(&s->page->grant, 0);
	gs_page_doorbell(s->page);
}

static void keep_connection(struct agent *a)
{
	struct shim_session *s = a->session;
	uint64_t now = gs_clock_ns();
	struct gs_error err;

	if (s->connected && !gs_client_alive(s->client)) {
		s->connected = 0;
		shim_log("gpushared is gone");
		gs_page_store(s->page->preenqueue, 0); /* nobody is left to let it go */
		a->reconnect_step_ns = RECONNECT_NS;
		a->reconnect_ns = now + RECONNECT_NS;
		if (s->absent != GS_ABSENT_RUN)
			return_grant(s);
	}
	if (s->connected || s->sent_away || s->alone)
		return;
	if (s->absent == GS_ABSENT_RUN && !gs_page_load(s->page->grant)) {
		gs_page_store(s->page->grant, 1);
		gs_page_doorbell(s->page);
	}
	if (now < a->reconnect_ns)
		return;
	if (shim_session_connect(s, RECONNECT_TIMEOUT_MS, &err) < 0) {
		a->reconnect_ns = now + a->reconnect_step_ns;
		if (!s->refused) /* a quick restart is not worth a word */
			shim_session_say_absent(s);
		if (s->refused && a->reconnect_step_ns < RECONNECT_MAX_NS)
			a->reconnect_step_ns *= 2;
		return;
	}
	shim_kernels_announce(s);
	gs_client_doorbell(s->client);
	a->tell_anyway = 1;
	a->tell_ns = 0;
	shim_log("managed again");
}

static void tell_of_untracked(struct agent *a)
{
	uint64_t now = gs_clock_ns();

	if (now < a->tell_ns)
		return;
	if (shim_untracked_tell(a->session, a->tell_anyway) == 0)
		a->tell_anyway = 0;
	a->tell_ns = now + a->tell_step_ns;
	if (a->tell_step_ns < TELL_NS)
		a->tell_step_ns *= 2;
}

static void tell_of_the_last(struct shim_session *s)
{
	static const struct timespec nap = { 0, NAP_BUSY_NS };
	uint64_t until = gs_clock_ns() + TELL_LAST_NS;

	while (shim_untracked_tell(s, 1) < 0 && s->connected && gs_clock_ns() < until)
		nanosleep(&nap, NULL);
}

/* Rung for while a kernel waits: its time slice is near, and a wake-up takes long.  1: look again.
 */
static int stay_awake(struct agent *a, uint32_t doorbell)
{
	struct gs_page *page = a->session->page;
	uint64_t until = gs_clock_ns() + SHIM_GRANT_SPIN_NS;
	int rung = doorbell != a->heard;

	a->heard = doorbell;
	if (!rung || !a->waits || !a->session->connected)
		return 0;
	while (gs_clock_ns() < until) {
		if (gs_page_load(page->doorbell) != doorbell || gs_page_load(page->grant))
			return 1;
		__builtin_ia32_pause();
	}
	return 0;
}

static void *run(void *arg)
{
	struct agent a = { .session = arg,
			   .reconnect_step_ns = RECONNECT_NS,
			   .tell_step_ns = TELL_FIRST_NS };
	struct shim_session *s = a.session;
	struct shim_force force = { 0 };

	gs_slice_short(); /* the program's threads may spin where this one is woken */
	while (!s->stopping) {
		uint32_t doorbell = gs_page_load(s->page->doorbell);
		uint64_t nap = inspect(&a);

		if (s->alone)
			shim_force_step(&force, s, gs_clock_ns(), &nap);
		shim_launch_reap(s);
		/* Launches read this line of the page: it is written only if it changes. */
		if (gs_page_load(s->page->heard) != doorbell)
			gs_page_store(s->page->heard, doorbell);
		keep_connection(&a);
		tell_of_untracked(&a);
		if (!stay_awake(&a, doorbell))
			gs_page_wait(s->page, doorbell, nap);
	}
	/* What ended since the last look is measured all the same: the daemon has a last look, too.
	 */
	shim_launch_reap(s);
	tell_of_the_last(s);
	return NULL;
}

int shim_agent_start(struct shim_session *s)
{
	/* The program's signal handlers never run on our thread. */
	if (gs_thread_start(&thread, 0, run, s) < 0)
		return -1;
	pthread_setname_np(thread, "gpushare");
	return 0;
}

void shim_agent_stop(struct shim_session *s)
{
	struct timespec until;

	if (atomic_exchange(&s->stopping, 1))
		return; /* a thread is joined once */
	gs_page_doorbell(s->page);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_timedjoin_np(thread, NULL, &until);
}
