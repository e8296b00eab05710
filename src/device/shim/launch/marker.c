/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Markers around a launch; see marker.h. */
#define _GNU_SOURCE
#include "device/shim/launch/marker.h"

#include <stddef.h>

#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/fault.h"
#include "device/shim/base/wraps.h"

/* A shorter kernel ends before its time slice has cost an urgent client much. */
#define LONG_NS (1 * GS_NS_PER_MS)

/*
 * The launch whose end must be polled. There is at most one, since it was alone when it went out.
 */
static struct shim_launch *_Atomic polled;

void shim_marker_choose(struct shim_session *s, struct shim_launch *l)
{
	if (s->one_context || gs_page_load(s->page->contended) != GS_CONTENDED_QUEUE ||
	    !shim_time_is_settled(l->time) || l->time->tpt_ps * l->tasks / 1000 < LONG_NS)
		return;
	shim_launch_reap(s);
	if (!shim_launch_is_alone(l))
		return;
	l->watch.sampled = SHIM_UNTIMED;
	atomic_store(&polled, l);
	gs_page_doorbell(s->page); /* wake the agent, which may sleep for long, so that it polls */
}

/*
 * Writes the marker from the CPU if kernels of other contexts run and nothing of this context is
 * out. If the GPU wrote it, it would switch to this context for the marker, find nothing else yet,
 * switch back, and let the kernel wait for another time slice.
 */
CUresult shim_marker_started(struct shim_launch *l, CUstream stream, int stops)
{
	if (!stops && (atomic_load(&polled) == l ||
		       (l->beside == GS_BESIDE_SLICED && shim_launch_is_alone(l)))) {
		gs_page_store(l->slot->started, 1);
		return CUDA_SUCCESS;
	}
	return REAL(cuStreamWriteValue32_v2)(
		stream, shim_launch_slot(l, offsetof(struct gs_slot, started)), 1, 0);
}

CUresult shim_marker_ended(struct shim_launch *l, CUstream stream)
{
	if (atomic_load(&polled) == l &&
	    REAL(cuEventRecord)(l->ctx->event[SHIM_ENDED], stream) == CUDA_SUCCESS)
		return CUDA_SUCCESS;
	shim_marker_forget(l);
	return REAL(cuStreamWriteValue32_v2)(
		stream, shim_launch_slot(l, offsetof(struct gs_slot, state)), GS_K_DONE, 0);
}

void shim_marker_forget(struct shim_launch *l)
{
	struct shim_launch *was = l;

	atomic_compare_exchange_strong(&polled, &was, NULL);
}

/* Returns 1 if nothing is in front of the event any more. The destruction of a context ends
 * everything in it. */
static int has_ended(struct shim_context *c)
{
	CUresult rc = CUDA_SUCCESS;
	CUstreamCaptureMode mode;

	if (shim_context_use(c)) {
		shim_capture_relax(&mode);
		rc = REAL(cuEventQuery)(c->event[SHIM_ENDED]);
		shim_capture_restore(mode);
		if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_READY)
			shim_fault_seen(c, rc);
		shim_context_unuse(c);
	}
	return rc == CUDA_SUCCESS;
}

void shim_marker_poll(void)
{
	struct shim_launch *l = atomic_load(&polled);

	if (l && atomic_load(&l->enqueued) && has_ended(l->ctx) &&
	    atomic_compare_exchange_strong(&polled, &l, NULL))
		gs_slot_move(l->slot, GS_K_RUNNING, GS_K_DONE);
}
