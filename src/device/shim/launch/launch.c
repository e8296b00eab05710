/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launching, and what a launch waits for.
 *
 * With the time slice a launch goes straight to the driver; without it, it waits
 * for the daemon (DESIGN.md, "Turns"), in its stream where that is worth it (preenqueued.h).  An
 * evictable kernel goes out as its preemptible variant with a wait behind it that the kernel's last
 * block ends, so whatever the program enqueues next stays behind it across evictions. Anything else
 * goes out as it is, between two marks that the GPU writes.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/barrier.h"
#include "device/shim/launch/preenqueued.h"
#include "device/shim/memory/local.h"
#include "device/shim/variant/build.h"
#include "device/shim/context/channels.h"
#include "device/shim/context/fault.h"
#include "device/shim/launch/force.h"
#include "device/shim/variant/transforms.h"
#include "device/shim/graph/graph.h"
#include "device/shim/launch/marker.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/context/order.h"
#include "device/shim/launch/queue.h"
#include "device/shim/launch/request.h"
#include "device/shim/launch/untracked.h"
#include "device/shim/base/wraps.h"

#define GRANT_NAP_NS (100ull * 1000 * 1000)

/* The program's own launch, unchanged. */
static CUresult launch_original(const struct shim_request *r)
{
	if (r->as_written)
		return r->as_written(r);
	if (r->graph)
		return REAL(cuGraphLaunch)(r->graph, r->stream);
	if (r->config) {
		CUlaunchConfig config = *r->config;

		config.hStream = r->stream;
		return REAL(cuLaunchKernelEx)(&config, r->f, r->params, r->extra);
	}
	if (r->cooperative)
		return REAL(cuLaunchCooperativeKernel)(r->f, r->grid[0], r->grid[1], r->grid[2],
						       r->block[0], r->block[1], r->block[2],
						       r->shared, r->stream, r->params);
	return REAL_AT_ONCE(cuLaunchKernel)(r->f, r->grid[0], r->grid[1], r->grid[2], r->block[0],
					    r->block[1], r->block[2], r->shared, r->stream,
					    r->params, r->extra);
}

_Static_assert(PTX_REASON_COUNT <= GS_SLOT_WHY_MAX + 1, "a slot's flags have room for it");

static uint64_t tasks_of(const struct shim_request *r)
{
	return r->graph ? 1 : (uint64_t)r->grid[0] * r->grid[1] * r->grid[2];
}

/* What the making of a variant wants to know of it. */
static struct shim_seen seen_of(const struct shim_request *r)
{
	struct shim_seen seen = { r->block[0] * r->block[1] * r->block[2], r->shared, 0 };

	for (unsigned int i = 0; r->config && r->config->attrs && i < r->config->numAttrs; i++) {
		const CUlaunchAttributeValue *v = &r->config->attrs[i].value;

		if (r->config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			seen.cluster = v->clusterDim.x * v->clusterDim.y * v->clusterDim.z;
	}
	return seen;
}

static void prepare(struct shim_session *s, struct shim_launch *l, struct shim_context *c,
		    struct shim_kernel *k, const struct shim_request *r)
{
	uint64_t n = atomic_fetch_add(&r->time->tracked, 1) + shim_time_untracked(r->time);
	uint64_t takes_ns = r->time->tpt_ps * r->tasks / 1000;
	uint32_t dims = r->graph ? 0 :
				   gs_slot_dims(r->block[0], r->block[1], r->block[2],
						shim_size(tasks_of(r)));
	enum ptx_reason why;
	uint64_t untracked_ns, seq;

	l->ctx = c;
	l->kernel = k;
	l->time = r->time;
	l->nt = tasks_of(r);
	l->tasks = r->tasks;
	l->sampled = shim_time_take(r->time, n, takes_ns, gs_page_load(s->page->shared) != 0);
	why = shim_request_block(s, l, r);
	l->evictable = why == PTX_REASON_NONE;
	if (why == PTX_REASON_NOT_BUILT) {
		struct shim_seen seen = seen_of(r);

		shim_build_consider(s, k, c, r->time, &seen, takes_ns);
	}
	if (l->evictable) {
		atomic_fetch_add(&k->evictable_launches, 1);
	} else {
		l->variant = NULL;
		atomic_store_explicit(&k->why, why, memory_order_relaxed);
	}
	gs_page_store(l->slot->started, 0);
	/* First: GS_SLOT_TIMED goes. */
	gs_page_store(l->slot->flags,
		      (l->evictable ? GS_SLOT_EVICTABLE : (uint32_t)why << GS_SLOT_WHY_SHIFT) |
			      dims << GS_SLOT_DIMS_SHIFT);
	gs_page_store(l->slot->kernel, k->code->number);
	gs_page_store(l->slot->nt, l->nt);
	gs_page_store(l->slot->done, 0);
	gs_page_store(l->slot->alone_ns, takes_ns);
	gs_page_store(l->slot->evictions, 0);
	seq = shim_untracked_number(l->evictable, &untracked_ns);
	/* An evictable one has no field for it, and the next one finds it. */
	gs_page_store(l->slot->leave_ns, l->evictable ? shim_request_leave_ns(l) : untracked_ns);
	gs_page_store(l->slot->seq, seq);
}

/*
 * The daemon takes the time slice back first and looks at the slots then; we write
 * the slot first and look at the time slice then: one of us sees the other.
 */
int shim_run_with_grant(struct gs_page *page, struct gs_slot *slot, uint32_t from)
{
	if (!gs_page_load(page->grant) || !gs_slot_move(slot, from, GS_K_RUNNING))
		return 0;
	if (atomic_load(&page->grant))
		return 1;
	if (!gs_slot_move(slot, GS_K_RUNNING, GS_K_READY))
		gs_slot_move(slot, GS_K_TOEVICT, GS_K_READY);
	return 0;
}

/*
 * Whoever is counted as awake has a launch that nobody has let go yet, and
 * looks for that: the daemon wakes nobody if as many are counted as it lets go.
 * One that counted although its launch was away already would stand for another, who sleeps.
 * So it counts from when the launch is there to be let go, the time slice not: who gives
 * the time slice afterwards sees the launch; and no more when it goes.
 */
static void count_awake(struct gs_page *page, struct gs_slot *slot, int *awake, int is)
{
	if (is && !*awake)
		is = !atomic_load(&page->grant) && gs_page_load(slot->state) == GS_K_READY;
	if (is != *awake)
		atomic_fetch_add(&page->awake, is ? 1u : -1u);
	*awake = is;
}

/* Has it been let go?  Then it goes, if nobody was quicker to take the time slice away. */
static int try_to_go(struct shim_session *s, struct shim_launch *l, int *awake)
{
	if (l->preenqueued)
		return shim_preenqueued_went(s, l);
	if (gs_page_load(l->slot->state) != GS_K_TORUN && !gs_page_load(s->page->grant))
		return 0;
	count_awake(s->page, l->slot, awake, 0);
	return gs_slot_move(l->slot, GS_K_TORUN, GS_K_RUNNING) ||
	       shim_run_with_grant(s->page, l->slot, GS_K_READY);
}

/* Until the launch may go.  0, or an error when no daemon may be done without. */
static CUresult sleep_until_it_goes(struct shim_session *s, struct shim_launch *l, int *awake)
{
	struct gs_page *page = s->page;
	uint64_t spin_until = gs_clock_ns() + SHIM_GRANT_SPIN_NS;

	for (;;) {
		uint32_t doorbell = gs_page_load(page->doorbell);

		if (try_to_go(s, l, awake))
			return CUDA_SUCCESS;
		if (shim_session_forsaken(s) && !l->preenqueued) {
			if (!s->sent_away)
				shim_session_say_absent(s);
			return CUDA_ERROR_SYSTEM_NOT_READY;
		}
		count_awake(page, l->slot, awake, !l->preenqueued);
		if (gs_clock_ns() < spin_until) {
			__builtin_ia32_pause();
			continue;
		}
		/* Not awake before it sleeps: a doorbell that wakes nobody has changed by then. */
		count_awake(page, l->slot, awake, 0);
		if (gs_page_wait(page, doorbell, GRANT_NAP_NS) != doorbell)
			spin_until =
				gs_clock_ns() + SHIM_GRANT_SPIN_NS; /* the time slice is near */
	}
}

/* Of this launch's context; those of another that it was in before go, or went with it. */
static void take_events(struct shim_launch *l)
{
	if (l->watch.ctx && shim_context_use(l->watch.ctx)) {
		REAL(cuEventDestroy_v2)(l->watch.begin);
		REAL(cuEventDestroy_v2)(l->watch.end);
		shim_context_unuse(l->watch.ctx);
	}
	l->watch.ctx = NULL;
	if (REAL(cuEventCreate)(&l->watch.begin, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
		return;
	if (REAL(cuEventCreate)(&l->watch.end, CU_EVENT_DEFAULT) == CUDA_SUCCESS)
		l->watch.ctx = l->ctx;
	else
		REAL(cuEventDestroy_v2)(l->watch.begin);
}

/* Timing events around the kernel; without them it is merely not timed. */
static void sample_begin(struct shim_launch *l, CUstream stream)
{
	if (!l->sampled)
		return;
	if (l->watch.ctx != l->ctx)
		take_events(l);
	if (l->watch.ctx != l->ctx || REAL(cuEventRecord)(l->watch.begin, stream) != CUDA_SUCCESS)
		l->sampled = SHIM_UNTIMED;
}

static void sample_end(struct shim_launch *l, CUstream stream)
{
	if (l->sampled && REAL(cuEventRecord)(l->watch.end, stream) != CUDA_SUCCESS)
		l->sampled = SHIM_UNTIMED;
}

CUresult shim_launch_packed(struct shim_launch *l, const unsigned int grid[3], CUstream stream)
{
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER,
		l->packed.bytes,
		CU_LAUNCH_PARAM_BUFFER_SIZE,
		&l->packed.len,
		CU_LAUNCH_PARAM_END,
	};
	const unsigned int *block = l->dims.block;
	CUlaunchConfig config = {
		grid[0],  grid[1],        grid[2], block[0],         block[1],
		block[2], l->dims.shared, stream,  l->attributes.of, l->attributes.n,
	};

	if (l->attributes.n)
		return REAL(cuLaunchKernelEx)(&config, l->variant->f, NULL, extra);
	return REAL(cuLaunchKernel)(l->variant->f, grid[0], grid[1], grid[2], block[0], block[1],
				    block[2], l->dims.shared, stream, NULL, extra);
}

CUresult shim_launch_variant(struct shim_launch *l, CUstream stream)
{
	CUresult rc = shim_force_arm(shim_session_peek(), l);

	return rc == CUDA_SUCCESS ? l->transform->launch(l, stream) : rc;
}

static CUresult enqueue_evictable(struct shim_launch *l, const struct shim_request *r)
{
	uint32_t *done = &l->ctx->image[l->index].done;
	CUresult rc = CUDA_SUCCESS;

	l->guard.ends = *done + 1;
	if (l->nwrite)
		rc = REAL(cuStreamBatchMemOp_v2)(r->stream, l->nwrite, l->write, 0);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_begin(l, r->stream);
	rc = shim_launch_variant(l, r->stream);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_end(l, r->stream);
	return REAL(cuStreamWaitValue32_v2)(r->stream,
					    shim_launch_ctl(l, offsetof(struct gs_ctl, done)),
					    *done = l->guard.ends, CU_STREAM_WAIT_VALUE_GEQ);
}

static CUresult enqueue_as_is(struct shim_session *s, struct shim_launch *l,
			      const struct shim_request *r)
{
	CUresult rc;

	shim_marker_choose(s, l);
	rc = shim_marker_started(l, r->stream);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_begin(l, r->stream);
	rc = launch_original(r);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_end(l, r->stream);
	return shim_marker_ended(l, r->stream);
}

/* What one launch enqueues, with nothing of another's held kernel in between (order.h). */
static CUresult enqueue(struct shim_session *s, struct shim_launch *l, const struct shim_request *r)
{
	struct shim_section p;
	CUresult rc;

	l->beside = (uint8_t)gs_page_load(s->page->beside);
	if (l->beside == GS_BESIDE_SLICED && shim_time_is_settled(l->time))
		l->sampled = SHIM_UNTIMED;
	shim_order_enter(&p, l->ctx, r->stream, l->evictable, l->legacy);
	rc = l->evictable ? enqueue_evictable(l, r) : enqueue_as_is(s, l, r);
	shim_order_leave(&p);
	if (rc == CUDA_SUCCESS && l->in_barrier) {
		shim_request_grown(l->ctx, l->evictable ? l->variant->local_bytes :
							  l->kernel->local_bytes[r->graph != NULL]);
		if (r->graph)
			shim_graph_went(l->kernel);
	}
	return rc;
}

/* Gives the driver what waits for its time slice (preenqueued.h): its answer, if it has taken the
 * wait (l->pre-enqueued). */
static CUresult preenqueue(struct shim_session *s, struct shim_launch *l,
			   const struct shim_request *r, int *awake)
{
	CUresult rc = CUDA_SUCCESS;
	struct shim_section p;

	shim_order_enter(&p, l->ctx, r->stream, 1, l->legacy);
	if (shim_preenqueued_wait(l, r->stream))
		rc = enqueue_evictable(l, r);
	shim_order_leave(&p);
	if (l->preenqueued && rc == CUDA_SUCCESS) {
		/* It is let go without its thread, which would stand for another long after. */
		count_awake(s->page, l->slot, awake, 0);
		shim_preenqueued_say(l);
	}
	return rc;
}

/* Until the launch may go; l->pre-enqueued: it is in its stream by then, or the driver has refused
 * it behind a wait that is. */
static CUresult wait_for_grant(struct shim_session *s, struct shim_launch *l,
			       const struct shim_request *r)
{
	int awake = 0, rung = gs_page_load(s->page->attended) == GS_ATTENDED_AWAKE;
	CUresult rc = CUDA_SUCCESS;

	if (shim_run_with_grant(s->page, l->slot, GS_K_PREP))
		return CUDA_SUCCESS;
	gs_slot_move(l->slot, GS_K_PREP, GS_K_READY);
	count_awake(s->page, l->slot, &awake, 1);
	/* Who is woken to hear it has this processor until the time slice is ours: then it would be
	 * too late to arm. */
	if (rung)
		gs_client_doorbell(s->client);
	if (shim_preenqueued_may(s, l))
		rc = preenqueue(s, l, r, &awake);
	if (!rung)
		gs_client_doorbell(s->client);
	if (rc == CUDA_SUCCESS)
		rc = sleep_until_it_goes(s, l, &awake);
	count_awake(s->page, l->slot, &awake, 0);
	return rc;
}

/*
 * The driver has refused the launch, behind the wait for its time slice: that is ended, for which
 * nobody needs a turn, and the GPU says that the launch is over.  0: the driver refuses that, too.
 */
static int end_wait(struct shim_launch *l, const struct shim_request *r)
{
	uint32_t state;

	while ((state = gs_page_load(l->slot->state)) == GS_K_READY || state == GS_K_TORUN)
		gs_slot_move(l->slot, state, GS_K_RUNNING);
	return REAL(cuStreamWriteValue32_v2)(r->stream,
					     shim_launch_slot(l, offsetof(struct gs_slot, state)),
					     GS_K_DONE, 0) == CUDA_SUCCESS;
}

/* It is not to be, or the wait alone is. */
static void refused(struct shim_launch *l, const struct shim_request *r)
{
	if (l->evictable)
		l->transform->forget(l);
	if (l->preenqueued && end_wait(l, r)) {
		atomic_store(&l->enqueued, 1);
		return;
	}
	if (l->evictable)
		shim_blocked_end(l->stream, l->legacy);
	shim_launch_drop(l);
}

static CUresult launch_untracked(struct shim_session *s, struct shim_context *c,
				 const struct shim_request *r)
{
	struct shim_stream *in = shim_channel_enter(s, r->stream);
	struct shim_section p;
	CUresult rc;

	shim_order_enter(&p, c, r->stream, 0, 0);
	rc = launch_original(r);
	shim_order_leave(&p);
	shim_channel_leave(in);
	return rc;
}

/* Before the time slice: what is held may need it.  A graph's branches beside the first are streams
 * of their own to the GPU. */
static void take_channels(struct shim_session *s, struct shim_launch *l,
			  const struct shim_request *r)
{
	uint32_t branches = r->graph ? l->kernel->branches : 1;

	if (!branches || branches > SHIM_CONNECTIONS_N)
		branches = SHIM_CONNECTIONS_N; /* not known, or as good as */
	if (branches > 1) {
		shim_channels_fork(s, branches - 1);
		l->branches = branches - 1;
	}
	l->in = shim_channel_enter(s, r->stream);
}

/* What goes out with a slot: it waits for the time slice, and the daemon hears of its end. */
static CUresult launch_told(struct shim_session *s, struct shim_context *c, struct shim_kernel *k,
			    const struct shim_request *r)
{
	struct shim_launch *l = shim_launch_take(s);
	struct shim_stream *in;
	CUresult rc;

	prepare(s, l, c, k, r);
	if (!l->evictable) {
		shim_queue_enter(s, l, r->stream);
		take_channels(s, l, r);
	}
	/* Before the time slice: what is held may need it, and the daemon would wait for this one.
	 */
	if (!l->evictable && !l->in_barrier && shim_request_grows(c, k->local_bytes[0])) {
		l->in_barrier = 1;
		shim_barrier_enter(0);
	}
	rc = wait_for_grant(s, l, r);
	if (rc == CUDA_SUCCESS && !l->preenqueued)
		rc = enqueue(s, l, r);
	in = l->in; /* once it is enqueued, the launch may be over and another's */
	if (l->in_barrier)
		shim_barrier_leave(0);
	if (rc != CUDA_SUCCESS) {
		shim_fault_seen(c, rc);
		refused(l, r);
	} else {
		l->progress.out_ns = gs_clock_ns();
		atomic_store(&l->enqueued, 1);
	}
	/* Not before: who is neither inside nor enqueued has nothing to do. */
	shim_channel_leave(in);
	return rc;
}

static CUfunction function_of(const struct shim_kernel *k)
{
	CUstreamCaptureMode mode;
	CUfunction f = NULL;

	if (!k->library)
		return k->original;
	shim_capture_relax(&mode);
	if (REAL(cuKernelGetFunction)(&f, (CUkernel)(uintptr_t)k->original) != CUDA_SUCCESS)
		f = k->original;
	shim_capture_restore(mode);
	return f;
}

/* The kernel's first launch in the context, or the first after another one. */
static CUresult count_local(struct shim_session *s, struct shim_context *c, struct shim_kernel *k,
			    const struct shim_request *r)
{
	CUresult rc = shim_load_now(k->original);
	struct shim_seen seen = seen_of(r);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (shim_local_charge(s, k->original) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	k->local_bytes[0] = shim_local_bytes(k->original);
	shim_kernel_count(k, c, function_of(k));
	shim_build_first(s, k, c, &seen);
	return CUDA_SUCCESS;
}

static CUresult launch_managed(struct shim_session *s, struct shim_context *c,
			       struct shim_request *r)
{
	struct shim_kernel *k = r->graph ? shim_graph_find(r->graph) : shim_kernel_find(r->f);
	struct shim_context *is;
	CUresult rc;

	if (!c || !k || c->fault)
		return launch_original(r);
	if (k->counted_in != c && !r->graph) {
		rc = count_local(s, c, k, r);
		if (rc != CUDA_SUCCESS)
			return rc;
	}
	if (r->stream == CU_STREAM_PER_THREAD) /* what goes untracked, too: each thread's first
						  launch is not over without us */
		shim_channels_thread();
	if (shim_is_default(r->stream))
		shim_blocked_behind(SHIM_LAUNCH_OPERATIONS + k->nodes);
	r->tasks = tasks_of(r);
	r->time = shim_kernel_time(k, r->block, r->tasks);
	if (!r->graph && r->tasks < (uint64_t)c->sms)
		r->tasks = (uint64_t)c->sms;
	if (!r->time->tpt_ps && r->block[0] && !s->alone) /* not of what has no shape here */
		shim_kernel_recall(s, k, r->time, r->block, tasks_of(r),
				   (double)tasks_of(r) / (double)r->tasks);
	/* What grows waits at the barrier, and the time slice may be gone by then. */
	if (!shim_request_grows(c, k->local_bytes[0]) && !r->graph && !s->alone &&
	    shim_may_go_untracked(s->page, r->time, r->tasks))
		return launch_untracked(s, c, r);
	/* Untracked launches go by what is known of the context; here the driver is asked. */
	is = shim_context_current(s);
	return is == c ? launch_told(s, c, k, r) : launch_managed(s, is, r);
}

CUresult shim_launch(struct shim_request *r)
{
	struct shim_session *s = shim_session();
	CUresult rc;

	if (s && !shim_capturing(r->stream))
		return launch_managed(s, shim_context_known(s), r);
	rc = r->f ? shim_load_now(r->f) : CUDA_SUCCESS;
	return rc == CUDA_SUCCESS ? launch_original(r) : rc;
}
