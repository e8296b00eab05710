/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that launch.  What goes untracked (untracked.h) goes to the driver from here, and so
 * fast as that can be: most of a program's launches are of that kind, and have 100 ns. Everything
 * else is launch.c's.
 */
#define _GNU_SOURCE
#include "device/shim/base/capture.h"
#include "device/shim/graph/graph.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/context/order.h"
#include "device/shim/launch/request.h"
#include "device/shim/launch/untracked.h"
#include "device/shim/base/wraps.h"

#define APART __attribute__((noinline))
/* What nearly all launches go through lies together. */
#define TOGETHER __attribute__((hot))

/* The driver's, once it has been found: shim_slot[] is a cache line more. */
extern __typeof__(&cuLaunchKernel) _Atomic shim_launch_found SHIM_HOT;
__typeof__(&cuLaunchKernel) _Atomic shim_launch_found;

#define KERNEL_ARGS \
	CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, \
		unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, \
		void **params
#define DIMS gx, gy, gz, bx, by, bz, shared, stream, params
#define KERNEL f, DIMS
#define TASKS ((uint64_t)gx * gy * gz)

/*
 * What launch.c would find for nearly every launch that goes untracked, in the same order: is it
 * one, by what is known?  Then it is counted, and this is what the driver is given for f.  NULL:
 * nothing has been done that matters.  own: as owned_here() says.
 */
static SHIM_INLINE CUfunction may_go_untracked(struct shim_context **in, CUfunction f,
					       uint64_t tasks, uint32_t dims, CUstream stream,
					       struct shim_owned *own)
{
	const struct shim_session *s = shim_session_peek();
	struct shim_cached *cached = own ? &own->cached : shim_cached_here();
	struct shim_context *c;
	struct shim_kernel *k;
	CUfunction direct;
	struct shim_time *t;

	if (!own && (!s || shim_capturing(stream) ||
		     shim_is_uncommon(SHIM_UNCOMMON_CONTEXT | SHIM_UNCOMMON_CROWDED)))
		return NULL;
	if (SHIM_RARELY(s->alone || !shim_context_is_cached(cached)) ||
	    (shim_is_default(stream) &&
	     SHIM_RARELY(atomic_load_explicit(&shim_held[1], memory_order_relaxed))))
		return NULL;
	c = cached->ctx;
	k = shim_kernel_seen(f);
	if (SHIM_RARELY(!k || !shim_kernel_counted_in(k, c, &direct) || c->fault ||
			shim_request_grows(c, k->local_bytes[0])))
		return NULL;
	t = shim_kernel_time_seen(k, dims);
	if (SHIM_RARELY(!t))
		return NULL;
	if (tasks < (uint64_t)c->sms)
		tasks = (uint64_t)c->sms;
	*in = c;
	return (own ? shim_thread_may_go_untracked(s->page, t, tasks, own) :
		      shim_may_go_untracked(s->page, t, tasks)) ?
		       direct :
		       NULL;
}

/* What the calling thread owns, in a program that does nothing odd; NULL: it is not so. */
static SHIM_INLINE struct shim_owned *owned_here(void)
{
	return shim_is_uncommon(~UINT32_C(0)) ? NULL : shim_owned_here();
}

/*
 * The one thread that launches, so there is a session, in a program that does nothing odd: its
 * launch goes untracked, and has entered. That is what nearly all launches go through, apart from
 * their many arguments, which leave it no registers.  Should another thread come meanwhile, order.h
 * sees it in the end.  NULL: nothing has been done that matters.
 */
static APART TOGETHER CUfunction thread_may_go_untracked(struct shim_section *p, CUfunction f,
							 uint64_t tasks, uint32_t dims,
							 CUstream stream)
{
	struct shim_owned *own = owned_here();
	struct shim_context *c;
	CUfunction direct = own ? may_go_untracked(&c, f, tasks, dims, stream, own) : NULL;

	if (SHIM_RARELY(!direct))
		return NULL;
	if (SHIM_RARELY(!shim_order_enter_alone(p, c, stream, own)))
		shim_order_enter_late(p);
	return direct;
}

/* It was launched by its function in the context that is current, and the driver says that this is
 * not one: the stream's is another. */
static SHIM_INLINE int is_elsewhere(CUresult rc, CUfunction direct, CUfunction f)
{
	return SHIM_RARELY(rc == CUDA_ERROR_INVALID_HANDLE) && direct != f;
}

/* As the program gave it, then; it may have to be loaded in the stream's context. */
static APART CUresult launch_elsewhere(KERNEL_ARGS, void **extra, const CUlaunchConfig *config)
{
	struct shim_context *c = shim_context_known(shim_session_peek());
	struct shim_section p;
	struct shim_load l;
	CUcontext ctx;
	CUresult rc;

	if (shim_is_default(stream) || REAL(cuStreamGetCtx)(stream, &ctx) != CUDA_SUCCESS)
		ctx = NULL;
	shim_load_enter(&l, f, ctx);
	if (c)
		shim_order_enter(&p, c, stream, 0, 0);
	rc = config ? REAL(cuLaunchKernelEx)(config, f, params, extra) :
		      REAL(cuLaunchKernel)(KERNEL, extra);
	if (c)
		shim_order_leave(&p);
	return shim_load_leave(&l, rc);
}

#ifdef SHIM_REAL_WATCHED
#define FOUND() REAL(cuLaunchKernel)
#else
#define FOUND() atomic_load_explicit(&shim_launch_found, memory_order_relaxed)
#endif

/* Another thread's untracked launch, or what is more than that.  Every field by its name: if any is
 * left out, the compiler clears the whole by a string operation, which takes longer. */
static APART CUresult launch_among_others(KERNEL_ARGS, void **extra)
{
	struct shim_request r = {
		.f = f,
		.grid = { gx, gy, gz },
		.block = { bx, by, bz },
		.shared = shared,
		.stream = stream,
		.params = params,
		.extra = extra,
		.config = NULL,
		.graph = NULL,
		.cooperative = 0,
		.as_written = NULL,
		.own = NULL,
		.time = NULL,
		.tasks = 0,
	};
	__typeof__(&cuLaunchKernel) real = FOUND();
	CUfunction direct = NULL;
	struct shim_context *c;
	struct shim_section p;
	CUresult rc;

	if (real && !owned_here())
		direct = may_go_untracked(&c, f, TASKS, shim_dims(bx, by, bz, TASKS), stream, NULL);
	if (SHIM_RARELY(!direct)) {
		if (!real)
			atomic_store_explicit(&shim_launch_found, REAL(cuLaunchKernel),
					      memory_order_relaxed);
		return shim_launch(&r);
	}
	shim_order_enter(&p, c, stream, 0, 0);
	rc = real(direct, DIMS, extra);
	shim_order_leave(&p);
	return is_elsewhere(rc, direct, f) ? launch_elsewhere(KERNEL, extra, NULL) : rc;
}

static SHIM_INLINE CUresult launch(KERNEL_ARGS, void **extra)
{
	__typeof__(&cuLaunchKernel) real = FOUND();
	CUfunction direct = NULL;
	struct shim_section p;
	CUresult rc;

	if (real)
		direct =
			thread_may_go_untracked(&p, f, TASKS, shim_dims(bx, by, bz, TASKS), stream);
	if (SHIM_RARELY(!direct))
		return launch_among_others(KERNEL, extra);
	rc = real(direct, DIMS, extra);
	shim_order_leave(&p);
	return is_elsewhere(rc, direct, f) ? launch_elsewhere(KERNEL, extra, NULL) : rc;
}

/* In a _ptsz call, stream 0 is the thread's own default stream. */
static CUstream per_thread(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

SHIM_EXPORT TOGETHER CUresult cuLaunchKernel(KERNEL_ARGS, void **extra)
{
	return launch(KERNEL, extra);
}

SHIM_EXPORT CUresult cuLaunchKernel_ptsz(KERNEL_ARGS, void **extra)
{
	stream = per_thread(stream);
	return launch(KERNEL, extra);
}

static CUresult launch_cooperative(KERNEL_ARGS)
{
	struct shim_request r = {
		.f = f,
		.grid = { gx, gy, gz },
		.block = { bx, by, bz },
		.shared = shared,
		.stream = stream,
		.params = params,
		.cooperative = 1,
	};

	return shim_launch(&r);
}

SHIM_EXPORT CUresult cuLaunchCooperativeKernel(KERNEL_ARGS)
{
	return launch_cooperative(KERNEL);
}

SHIM_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(KERNEL_ARGS)
{
	stream = per_thread(stream);
	return launch_cooperative(KERNEL);
}

#define CONFIGURED \
	f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, \
		config->blockDimY, config->blockDimZ, config->sharedMemBytes, stream, params, \
		extra

static APART CUresult launch_with_attributes(const CUlaunchConfig *config, CUfunction f,
					     void **params, void **extra, CUstream stream)
{
	struct shim_request r = {
		.f = f,
		.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
		.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
		.shared = config->sharedMemBytes,
		.stream = stream,
		.params = params,
		.extra = extra,
		.config = config,
	};

	return shim_launch(&r);
}

/* Its attributes are the driver's; but it must not take stream 0 for another one. */
static CUresult launch_ex(const CUlaunchConfig *config, CUfunction f, void **params, void **extra,
			  CUstream stream)
{
	uint64_t tasks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;
	CUfunction direct = NULL;
	struct shim_context *c;
	struct shim_section p;
	CUresult rc;

	if (!config->numAttrs)
		return launch(CONFIGURED);
	if (stream == config->hStream)
		direct = may_go_untracked(
			&c, f, tasks,
			shim_dims(config->blockDimX, config->blockDimY, config->blockDimZ, tasks),
			stream, NULL);
	if (!direct)
		return launch_with_attributes(config, f, params, extra, stream);
	shim_order_enter(&p, c, stream, 0, 0);
	rc = REAL_AT_ONCE(cuLaunchKernelEx)(config, direct, params, extra);
	shim_order_leave(&p);
	return is_elsewhere(rc, direct, f) ?
		       launch_elsewhere(f, 0, 0, 0, 0, 0, 0, 0, stream, params, extra, config) :
		       rc;
}

SHIM_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
				      void **extra)
{
	return config ? launch_ex(config, f, params, extra, config->hStream) :
			REAL(cuLaunchKernelEx)(config, f, params, extra);
}

SHIM_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f,
					   void **params, void **extra)
{
	return config ? launch_ex(config, f, params, extra, per_thread(config->hStream)) :
			REAL(cuLaunchKernelEx_ptsz)(config, f, params, extra);
}

static CUresult launch_graph(struct shim_request *r)
{
	CUresult rc = shim_launch(r);

	if (rc == CUDA_SUCCESS)
		shim_graph_copied(r->graph);
	return rc;
}

SHIM_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	struct shim_request r = { .graph = graph, .stream = stream };

	return graph ? launch_graph(&r) : REAL(cuGraphLaunch)(graph, stream);
}

SHIM_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream)
{
	struct shim_request r = { .graph = graph, .stream = per_thread(stream) };

	return graph ? launch_graph(&r) : REAL(cuGraphLaunch_ptsz)(graph, stream);
}
