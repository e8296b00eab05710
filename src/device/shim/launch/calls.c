/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver calls that launch kernels. Untracked launches (untracked.h) go to the driver directly
 * from here, as fast as possible: they are most of a program's launches, and the shim may add at
 * most 100 ns to each. launch.c handles all others.
 */
#define _GNU_SOURCE
#include "device/shim/base/capture.h"
#include "device/shim/graph/graph.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/context/launch_barrier.h"
#include "device/shim/context/order.h"
#include "device/shim/launch/request.h"
#include "device/shim/launch/untracked.h"
#include "device/shim/base/wraps.h"

#define APART __attribute__((noinline))
/* Functions that nearly all launches use are placed together. */
#define TOGETHER __attribute__((hot))

/* The driver's cuLaunchKernel, once it has been found; using shim_slot[] would touch one more cache
 * line. */
extern __typeof__(&cuLaunchKernel) _Atomic shim_launch_found SHIM_HOT;
__typeof__(&cuLaunchKernel) _Atomic shim_launch_found;

void shim_launch_find_again(void)
{
	__typeof__(&cuLaunchKernel) found = atomic_load(&shim_launch_found);

	if (found && found != REAL(cuLaunchKernel))
		atomic_store(&shim_launch_found, NULL);
}

#define KERNEL_ARGS \
	CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, \
		unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, \
		void **params
#define DIMS gx, gy, gz, bx, by, bz, shared, stream, params
#define KERNEL f, DIMS
#define TASKS ((uint64_t)gx * gy * gz)

/*
 * Decides, with the same checks in the same order as launch.c, whether the launch may go untracked
 * by what is known already. If so, counts it, sets *in to its context and returns the function to
 * give to the driver in place of f. Returns NULL if it may not; then nothing has changed. own: as
 * owned_here() returns it.
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
		     shim_is_uncommon(SHIM_UNCOMMON_CONTEXT | SHIM_UNCOMMON_CROWDED |
				      SHIM_UNCOMMON_PRIORITIES)))
		return NULL;
	if (SHIM_RARELY(s->alone || shim_launch_barrier_matters(s->page) ||
			!shim_context_is_cached(cached)) ||
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

/* The launch thread's state if the caller is the launch thread and the program uses no uncommon
 * feature; else NULL. */
static SHIM_INLINE struct shim_owned *owned_here(void)
{
	return shim_is_uncommon(~UINT32_C(0)) ? NULL : shim_owned_here();
}

/*
 * For the launch thread of a program without uncommon features: if the launch may go untracked,
 * enters the critical section and returns the function to launch. Nearly all launches use this
 * path. It is a separate function since a launch's many arguments leave it no registers. If another
 * thread launches meanwhile, order.h notices when the section ends. Returns NULL if the launch may
 * not go untracked; then nothing has changed.
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

/* The kernel was launched by its function of the current context, and the driver refused the
 * handle: the stream belongs to another context. */
static SHIM_INLINE int is_elsewhere(CUresult rc, CUfunction direct, CUfunction f)
{
	return SHIM_RARELY(rc == CUDA_ERROR_INVALID_HANDLE) && direct != f;
}

/*
 * Launches with the program's own handle. The kernel may have to be loaded in the stream's context.
 */
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

/* An untracked launch of another thread, or any other launch. The initializer names every field:
 * otherwise the compiler clears the whole struct by a string operation, which takes longer. */
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
		.priority = GS_PRIORITY_OF_CLIENT,
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

static APART TOGETHER CUresult launch_in_step(KERNEL_ARGS, void **extra)
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

/* With MountShim=node programs of no step come here, too, and their launches may take 1 % longer at
 * most. So this function does nothing
 * but jump to one of the two. */
static SHIM_INLINE CUresult launch(KERNEL_ARGS, void **extra)
{
	__typeof__(&cuLaunchKernel) real = FOUND();

	return SHIM_RARELY(shim_session_is_none() && real) ? real(KERNEL, extra) :
							     launch_in_step(KERNEL, extra);
}

/* In a _ptsz call stream 0 is the thread's own default stream. */
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

/* A launch with attributes goes to the driver unchanged, but stream 0 of a _ptsz call must not
 * become another stream. */
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
