/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enqueueing a launch; see enqueue.h. An evictable kernel goes out as its preemptible variant. A
 * wait behind it in the stream ends with the kernel's last block, so whatever the program enqueues
 * next stays behind the kernel across evictions. Any other kernel goes out as written, between two
 * markers (marker.h).
 */
#define _GNU_SOURCE
#include "device/shim/launch/enqueue.h"

#include <stddef.h>

#include "common/clock.h"
#include "device/shim/base/wraps.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/launch_barrier.h"
#include "device/shim/context/order.h"
#include "device/shim/graph/graph.h"
#include "device/shim/launch/force.h"
#include "device/shim/launch/marker.h"
#include "device/shim/variant/transforms.h"

CUresult shim_enqueue_as_written(const struct shim_request *r)
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

/* Creates the timing events in this launch's context. Events of another context that the slot was
 * used in before are destroyed; if that context is gone, they are gone with it. */
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

/*
 * Records a timing event on each side of the kernel; if that fails the kernel is merely not timed.
 */
static void sample_begin(struct shim_launch *l, CUstream stream)
{
	if (!l->watch.sampled)
		return;
	if (l->watch.ctx != l->ctx)
		take_events(l);
	if (l->watch.ctx != l->ctx || REAL(cuEventRecord)(l->watch.begin, stream) != CUDA_SUCCESS)
		l->watch.sampled = SHIM_UNTIMED;
}

static void sample_end(struct shim_launch *l, CUstream stream)
{
	if (l->watch.sampled && REAL(cuEventRecord)(l->watch.end, stream) != CUDA_SUCCESS)
		l->watch.sampled = SHIM_UNTIMED;
}

void shim_watch_variant(struct shim_launch *l)
{
	if (l->as.transform->watch)
		l->as.transform->watch(l);
}

CUresult shim_launch_variant(struct shim_launch *l, CUstream stream)
{
	const struct shim_session *s = shim_session_peek();
	CUresult rc = s && s->alone && shim_force_counts(s) ? shim_force_arm(s, l) : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS ? l->as.transform->launch(l, stream) : rc;
}

static CUresult enqueue_evictable(struct shim_launch *l, const struct shim_request *r)
{
	uint32_t *done = &l->ctx->image[l->index].done;
	CUresult rc = CUDA_SUCCESS;

	l->as.guard.ends = *done + 1;
	if (l->as.nwrite)
		rc = REAL(cuStreamBatchMemOp_v2)(r->stream, l->as.nwrite, l->as.write, 0);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (!l->preenqueued)
		shim_watch_variant(l);
	sample_begin(l, r->stream);
	rc = shim_launch_variant(l, r->stream);
	if (rc != CUDA_SUCCESS)
		return rc;
	l->as.sent = 1;
	sample_end(l, r->stream);
	return REAL(cuStreamWaitValue32_v2)(r->stream,
					    shim_launch_ctl(l, offsetof(struct gs_ctl, done)),
					    *done = l->as.guard.ends, CU_STREAM_WAIT_VALUE_GEQ);
}

/*
 * Returns 1 if the launch may be stopped by the launch barrier. One that no other launch with a
 * slot is in front of begins soon if the barrier is open; and in the driver the program waits for
 * one that makes local memory grow.
 */
static int wait_for_urgent(struct shim_session *s, const struct shim_launch *l, CUstream stream)
{
	if (!shim_launch_barrier_matters(s->page) || l->in_barrier ||
	    (!shim_launch_barrier_is_closed(s->page) && shim_launch_is_alone(l)))
		return 0;
	return shim_launch_barrier_wait(s, l->ctx, stream, l->time->tpt_ps * l->tasks / 1000);
}

static CUresult enqueue_as_is(struct shim_session *s, struct shim_launch *l,
			      const struct shim_request *r)
{
	int stops = wait_for_urgent(s, l, r->stream);
	CUresult rc;

	shim_marker_choose(s, l);
	rc = shim_marker_started(l, r->stream, stops);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_begin(l, r->stream);
	rc = shim_enqueue_as_written(r);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_end(l, r->stream);
	return shim_marker_ended(l, r->stream);
}

CUresult shim_enqueue(struct shim_session *s, struct shim_launch *l, const struct shim_request *r)
{
	struct shim_section p;
	CUresult rc;

	shim_launch_note_neighbours(l);
	if (l->beside == GS_BESIDE_SLICED && shim_time_is_settled(l->time))
		l->watch.sampled = SHIM_UNTIMED;
	shim_order_enter(&p, l->ctx, r->stream, l->evictable, l->streams.legacy);
	rc = l->evictable ? enqueue_evictable(l, r) : enqueue_as_is(s, l, r);
	shim_order_leave(&p);
	if (rc == CUDA_SUCCESS && l->in_barrier) {
		shim_request_grown(l->ctx, l->evictable ? l->as.variant->local_bytes :
							  l->kernel->local_bytes[r->graph != NULL]);
		if (r->graph)
			shim_graph_went(l->kernel);
	}
	return rc;
}

/* The wait is for a state of at least RUNNING, and none that comes before it is. */
_Static_assert(GS_K_PREP < GS_K_RUNNING && GS_K_READY < GS_K_RUNNING && GS_K_TORUN < GS_K_RUNNING &&
		       GS_K_TOEVICT > GS_K_RUNNING && GS_K_DONE > GS_K_RUNNING,
	       "launch_state.def");

/* Pre-enqueued before the driver has it: whoever asks what is out must not miss it (channels.c). */
static int wait_in_stream(struct shim_launch *l, CUstream stream)
{
	l->preenqueued = 1;
	if (REAL(cuStreamWaitValue32_v2)(stream,
					 shim_launch_slot(l, offsetof(struct gs_slot, state)),
					 GS_K_RUNNING, CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS)
		return 1;
	l->preenqueued = 0;
	return 0;
}

CUresult shim_enqueue_waiting(struct shim_launch *l, const struct shim_request *r)
{
	CUresult rc = CUDA_SUCCESS;
	struct shim_section p;

	shim_order_enter(&p, l->ctx, r->stream, 1, l->streams.legacy);
	if (wait_in_stream(l, r->stream))
		rc = enqueue_evictable(l, r);
	shim_order_leave(&p);
	return rc;
}

/* Moves the slot to RUNNING, which ends the wait for its time slice in the stream and needs none.
 */
static void end_wait(struct shim_launch *l)
{
	uint32_t state;

	while ((state = gs_page_load(l->slot->state)) == GS_K_READY || state == GS_K_TORUN)
		gs_slot_move(l->slot, state, GS_K_RUNNING);
}

/* The slot is free when the GPU has come to the end of what is in the stream. */
static CUresult write_done(const struct shim_launch *l, CUstream stream)
{
	return REAL(cuStreamWriteValue32_v2)(
		stream, shim_launch_slot(l, offsetof(struct gs_slot, state)), GS_K_DONE, 0);
}

/*
 * The driver has taken the variant, or the part of it that computes, and has refused what belongs
 * behind it. The program gets the error, but the kernel runs all the same, with the slot's page and
 * control block: the slot stays taken until it has ended. Nothing makes the stream wait, so it may
 * not be evicted. Returns 0 if the kernel has ended and the slot is to be given back.
 */
static int runs_on(struct shim_launch *l, CUstream stream)
{
	shim_launch_keep(l);
	l->watch.sampled = SHIM_UNTIMED;
	if (l->preenqueued)
		end_wait(l);
	if (l->as.sent || write_done(l, stream) == CUDA_SUCCESS)
		return 1;
	REAL(cuStreamSynchronize)(stream);
	return 0;
}

void shim_enqueue_refused(struct shim_launch *l, const struct shim_request *r)
{
	int out = 0;

	if (l->evictable && !l->as.sent)
		l->as.transform->forget(l);
	if (l->evictable && (l->as.sent || l->as.guard.endless)) {
		out = runs_on(l, r->stream);
	} else if (l->preenqueued) {
		end_wait(l);
		out = write_done(l, r->stream) == CUDA_SUCCESS;
	}
	if (out) {
		l->progress.out_ns = gs_clock_ns();
		atomic_store(&l->enqueued, 1);
		return;
	}
	if (l->evictable)
		shim_blocked_end(l->streams.blocked, l->streams.legacy);
	shim_launch_drop(l);
}
