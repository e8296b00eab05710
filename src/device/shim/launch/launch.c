/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of a launch after the program's call.
 *
 * A short launch goes straight to the driver, untracked. Any other takes a launch slot (request.c),
 * waits for the time slice (grant.c), inside its stream where that is worth it (grant.h), and
 * is enqueued (enqueue.c).
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/base/wraps.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/channels.h"
#include "device/shim/context/fault.h"
#include "device/shim/context/launch_barrier.h"
#include "device/shim/context/order.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/launch/enqueue.h"
#include "device/shim/launch/grant.h"
#include "device/shim/launch/queue.h"
#include "device/shim/launch/untracked.h"
#include "device/shim/memory/local.h"
#include "device/shim/session/own_priority.h"
#include "device/shim/variant/build.h"

static CUresult launch_untracked(struct shim_session *s, struct shim_context *c,
				 const struct shim_request *r)
{
	struct shim_stream *in = shim_channel_enter(s, r->stream);
	uint64_t ns = r->time->tpt_ps * r->tasks / 1000;
	int stops = shim_launch_barrier_matters(s->page);
	struct shim_section p;
	CUresult rc;

	if (stops) {
		shim_launch_barrier_tell(s, ns);
		/* The cached context may be an old one, whose page another one's stream cannot
		 * read. */
		stops = shim_context_current(s) == c;
	}
	shim_order_enter(&p, c, r->stream, 0, 0);
	if (stops)
		shim_launch_barrier_wait(s, c, r->stream, ns);
	rc = shim_enqueue_as_written(r);
	shim_order_leave(&p);
	shim_channel_leave(in);
	return rc;
}

/*
 * Takes the launch's channels before it asks for the time slice, since an evicted kernel may need
 * them to be relaunched. A graph's branches beyond the first are streams of their own to the GPU.
 */
static void take_channels(struct shim_session *s, struct shim_launch *l,
			  const struct shim_request *r)
{
	uint32_t branches = r->graph ? l->kernel->branches : 1;

	if (!branches || branches > shim_connections())
		branches = shim_connections(); /* not known, or more than there are */
	if (branches > 1) {
		shim_channels_fork(s, branches - 1);
		l->streams.branches = branches - 1;
	}
	l->streams.in = shim_channel_enter(s, r->stream);
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

/* Called at the kernel's first launch in the context, or its first after one in another context:
 * loads it and charges its local memory. */
static CUresult count_local(struct shim_session *s, struct shim_context *c, struct shim_kernel *k,
			    const struct shim_request *r)
{
	CUresult rc = shim_load_now(k->original);
	struct shim_seen seen = shim_request_seen(r);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (shim_local_charge(s, k->original) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	k->local_bytes[0] = shim_local_bytes(k->original);
	shim_kernel_count(k, c, function_of(k));
	shim_build_first(s, k, c, &seen);
	return CUDA_SUCCESS;
}

/* Fills in what is known of the launch's kernel. Afterwards the kernel counts as launched in this
 * context. */
static CUresult learn_of(struct shim_session *s, struct shim_context *c, struct shim_kernel *k,
			 struct shim_request *r)
{
	uint64_t tasks = shim_request_tasks(r);

	if (k->counted_in != c && !r->graph) {
		CUresult rc = count_local(s, c, k, r);

		if (rc != CUDA_SUCCESS)
			return rc;
	}
	/* also for untracked launches: the shim must see the end of each thread's first launch */
	if (r->stream == CU_STREAM_PER_THREAD)
		shim_channels_thread();
	if (shim_is_default(r->stream))
		shim_blocked_behind(SHIM_LAUNCH_OPERATIONS + k->nodes);
	r->time = shim_kernel_time(k, r->block, tasks);
	r->tasks = !r->graph && tasks < (uint64_t)c->sms ? (uint64_t)c->sms : tasks;
	if (!r->time->tpt_ps && r->block[0] && !s->alone) /* a graph has no block dimensions here */
		shim_kernel_recall(s, k, r->time, r->block, tasks,
				   (double)tasks / (double)r->tasks);
	return CUDA_SUCCESS;
}

/* What goes out with a slot: it waits for the time slice, and the daemon hears of its end. */
static CUresult launch_tracked(struct shim_session *s, struct shim_context *c,
			       struct shim_kernel *k, const struct shim_request *r)
{
	struct shim_launch *l = shim_launch_take(s);
	CUresult rc = CUDA_SUCCESS;
	struct shim_wait wait;
	struct shim_stream *in;

	shim_request_prepare(s, l, c, k, r);
	/*
	 * Do this before asking for the time slice. A preemptible kernel may need the queue, the
	 * channels and the barrier to be relaunched, and the daemon would wait for this launch
	 * meanwhile.
	 */
	if (!l->evictable) {
		shim_queue_enter(s, l, r->stream);
		take_channels(s, l, r);
		if (!l->in_barrier && shim_request_grows(c, k->local_bytes[0])) {
			l->in_barrier = 1;
			shim_barrier_enter(0);
		}
	}
	if (!shim_grant_request(s, l, &wait)) {
		if (shim_grant_may_preenqueue(s, l))
			rc = shim_enqueue_waiting(l, r);
		rc = shim_grant_wait(s, l, &wait, rc);
	}
	if (shim_launch_barrier_matters(s->page))
		shim_launch_barrier_tell(s, l->time->tpt_ps * l->tasks / 1000);
	if (rc == CUDA_SUCCESS && !l->preenqueued) {
		rc = shim_enqueue(s, l, r);
	} else if (rc == CUDA_SUCCESS) {
		shim_launch_note_neighbours(l);
		shim_watch_variant(l);
	}
	/* read it now: once it is enqueued, the launch may end and its slot be reused */
	in = l->streams.in;
	if (l->in_barrier)
		shim_barrier_leave(0);
	if (rc != CUDA_SUCCESS) {
		shim_fault_seen(c, rc);
		shim_enqueue_refused(l, r);
	} else {
		l->progress.out_ns = gs_clock_ns();
		atomic_store(&l->enqueued, 1);
	}
	/* Only now: a stream that is neither being entered nor enqueued counts as idle. */
	shim_channel_leave(in);
	return rc;
}

/* A launch without a session, or into a stream that is being captured. */
static CUresult launch_unmanaged(const struct shim_request *r)
{
	CUresult rc = r->f ? shim_load_now(r->f) : CUDA_SUCCESS;

	return rc == CUDA_SUCCESS ? shim_enqueue_as_written(r) : rc;
}

static CUresult launch_managed(struct shim_session *s, struct shim_request *r)
{
	struct shim_context *c = shim_context_known(s), *known;
	struct shim_kernel *k;
	CUresult rc;

	r->priority = shim_own_priority(r->stream);
	do {
		k = r->graph ? shim_graph_find(r->graph) : shim_kernel_find(r->f);
		if (!c || !k || c->fault)
			return shim_enqueue_as_written(r);
		rc = learn_of(s, c, k, r);
		if (rc != CUDA_SUCCESS)
			return rc;
		/* A launch that makes local memory grow waits at the barrier, and the time slice
		 * may be gone afterwards. A launch with a priority of its own needs a slot to say
		 * it. */
		if (r->priority == GS_PRIORITY_OF_CLIENT &&
		    !shim_request_grows(c, k->local_bytes[0]) && !r->graph && !s->alone &&
		    shim_may_go_untracked(s->page, r->time, r->tasks))
			return launch_untracked(s, c, r);
		/*
		 * Untracked launches rely on the cached context; for this one the driver is asked.
		 */
		known = c;
		c = shim_context_current(s);
	} while (c != known);
	return launch_tracked(s, c, k, r);
}

CUresult shim_launch(struct shim_request *r)
{
	struct shim_session *s = shim_session();
	int cancels;
	CUresult rc;

	if (!s || shim_capturing(r->stream))
		return launch_unmanaged(r);
	/* A thread that is cancelled must not leave a launch half done: others would wait for it.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	rc = launch_managed(s, r);
	pthread_setcancelstate(cancels, NULL);
	return rc;
}
