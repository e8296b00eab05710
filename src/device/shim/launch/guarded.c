/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launches of guarded variants, made from PTX or from machine code (device/ptx/guard.h); see
 * variant/transforms.h.
 *
 * A launch has the program's grid. Behind it in its stream a small kernel reads the guard word W
 * and writes READY or DONE into the slot. The order to leave comes from a watcher, a thread on the
 * GPU that reads the slot's state in host memory while the kernel runs, or else from the agent.
 *
 * A relaunch must make progress whatever is ordered meanwhile. So its first blocks are counted in W
 * before it begins, and they run in any case. They are as many as the GPU holds at once, which
 * takes no longer than one block, and enough that they run four times as long as all the others
 * need to leave.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/ptx/guard.h"
#include "device/ptx/guard_end.h"
#include "device/shim/base/capture.h"
#include "device/shim/variant/transforms.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/base/origin.h"
#include "device/shim/launch/packed.h"

/* Time that a block takes to leave if it ran earlier or is to run later, ps: 0.6 ms per million
 * blocks on an H200. */
#define SKIP_PS 600
#define SKIP_EMULATED_PS 1000000
#define SKIP_TIMES 4
/* A watcher takes the place of one block on one multiprocessor. That is little on a GPU, but much
 * on an emulated device with few of them. */
#define WATCHER_SMS 16
/* Where blocks take this long, it hardly matters that the agent's order comes some 20 us after a
 * watcher's. */
#define LONG_BLOCK_NS (100 * GS_NS_PER_US)
/* One wave more of so many is too little to do without a watcher for. */
#define WAVES_MANY 200

struct shim_guards {
	/* one area of GS_GUARD_BYTES for each slot: its W and the words behind it */
	CUdeviceptr areas;
	CUfunction end, watch;
	CUstream watchers;
	uint32_t skip_ps; /* SKIP_PS on this device */
	/* image of W's upper half; if it is 0, W is 0 before a launch */
	uint32_t upper[GS_PAGE_SLOTS];
	uint8_t seen[GS_PAGE_SLOTS]; /* the words behind W may not be zero */
};

static struct shim_guards cannot; /* stands for a context that has no room for guards */

static CUdeviceptr word_of(const struct shim_launch *l)
{
	return l->ctx->guards->areas + (CUdeviceptr)l->index * GS_GUARD_BYTES;
}

static int load(struct shim_context *c, struct shim_guards *g)
{
	CUmodule module;
	int least, greatest;

	if (REAL(cuMemAlloc_v2)(&g->areas, (size_t)GS_PAGE_SLOTS * GS_GUARD_BYTES) != CUDA_SUCCESS)
		return -1;
	if (REAL(cuMemsetD8Async)(g->areas, 0, (size_t)GS_PAGE_SLOTS * GS_GUARD_BYTES,
				  c->relaunch) == CUDA_SUCCESS &&
	    REAL(cuModuleLoadData)(&module, ptx_guard_module) == CUDA_SUCCESS &&
	    REAL(cuModuleGetFunction)(&g->end, module, PTX_GUARD_END) == CUDA_SUCCESS &&
	    REAL(cuModuleGetFunction)(&g->watch, module, PTX_GUARD_WATCH) == CUDA_SUCCESS &&
	    REAL(cuCtxGetStreamPriorityRange)(&least, &greatest) == CUDA_SUCCESS &&
	    REAL(cuStreamCreateWithPriority)(&g->watchers, CU_STREAM_NON_BLOCKING, greatest) ==
		    CUDA_SUCCESS &&
	    REAL(cuStreamSynchronize)(c->relaunch) == CUDA_SUCCESS) {
		g->skip_ps = shim_emulated() ? SKIP_EMULATED_PS : SKIP_PS;
		shim_load_module(module);
		return 0;
	}
	REAL(cuMemFree_v2)(g->areas);
	return -1;
}

/* Called once per context, since compiling two kernels takes the driver's lock. */
static int equip(struct shim_context *c, int closed)
{
	struct shim_guards *is = c->guards, *g;
	CUstreamCaptureMode mode;

	if (is || !closed)
		return !is ? 0 : is == &cannot ? -1 : 1;
	g = calloc(1, sizeof(*g));
	shim_capture_relax(&mode);
	if (!g || load(c, g) < 0) {
		shim_log(
			"context %p: no guarded kernels here: there is no memory, or the driver refuses",
			(void *)c->ctx);
		free(g);
		g = &cannot;
	}
	shim_capture_restore(mode);
	/* If another thread was faster, its guards are used; ours stay in the context and go with
	 * it. */
	if (!atomic_compare_exchange_strong(&c->guards, &is, g) && g != &cannot)
		free(g);
	return c->guards == &cannot ? -1 : 1;
}

/* The number of blocks that run or leave together: the cluster's, from the launch or else from the
 * kernel. */
static uint32_t unit_of(const struct shim_launch *l)
{
	static const CUfunction_attribute sizes[] = { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
						      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
						      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH };
	uint32_t unit = 1;

	if (!l->as.variant->by_cluster)
		return 1;
	for (unsigned int i = 0; i < l->as.attributes.n; i++) {
		const CUlaunchAttributeValue *v = &l->as.attributes.of[i].value;

		if (l->as.attributes.of[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			return v->clusterDim.x * v->clusterDim.y * v->clusterDim.z;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int n = 0;

		if (REAL(cuFuncGetAttribute)(&n, sizes[i], l->as.variant->f) == CUDA_SUCCESS &&
		    n > 0)
			unit *= (uint32_t)n;
	}
	return unit;
}

static void put_guard(struct shim_launch *l, uint64_t base)
{
	const struct gs_guard guard = { word_of(l), base, l->as.guard.group };

	memcpy(l->as.packed.bytes + l->as.variant->params.ctl_offset, &guard, sizeof(guard));
}

static CUdeviceptr started_of(const struct shim_launch *l)
{
	return shim_launch_slot(l, offsetof(struct gs_slot, started));
}

/*
 * Would a watcher make a launch of long blocks take a wave more? It has the place of a block for as
 * long as the kernel runs, if the blocks leave no room beside them. Mostly the last wave has places
 * to spare, and then this costs nothing. But where the last wave is almost full, the blocks that
 * would have run in that place are a wave of their own.
 */
static int costs_a_wave(const struct shim_launch *l)
{
	uint64_t places = l->as.dims.workers, waves, with;

	if (places < 2 || l->time->tpt_ps * places / 1000 < LONG_BLOCK_NS)
		return 0;
	waves = (l->nt + places - 1) / places;
	with = (l->nt + places - 2) / (places - 1);
	return (with - waves) * WAVES_MANY > waves;
}

static int has_watcher(const struct shim_session *s, const struct shim_launch *l)
{
	return s->signal == GS_SIGNAL_AUTO ? l->ctx->sms >= WATCHER_SMS && !costs_a_wave(l) :
					     s->signal == GS_SIGNAL_PROXY;
}

static int fits(struct shim_launch *l)
{
	l->as.guard.unit = unit_of(l);
	l->as.guard.group = l->as.variant->group;
	return l->as.guard.unit && l->nt / l->as.guard.unit <= UINT32_MAX;
}

static void prepare(const struct shim_session *s, struct shim_launch *l)
{
	uint32_t *upper = &l->ctx->guards->upper[l->index];
	unsigned int n = 0;

	l->as.proxy = (uint8_t)has_watcher(s, l);
	put_guard(l, 0);
	/* The slot's last launch may have been told to leave as it ended. */
	if (__atomic_exchange_n(upper, 0, __ATOMIC_ACQ_REL))
		n = shim_write_op(l->as.write, n, 64, word_of(l), 0);
	l->as.nwrite = shim_write_op(l->as.write, n, 32, started_of(l), 1);
}

/*
 * Launches the watcher; if the driver refuses, the agent gives the order instead. The launch must
 * be on its way: a watcher that waited in its stream for a launch that waits for its time slice
 * would stand there for ever if the launch were over before the watchers in front of it.
 */
static void watch(struct shim_launch *l)
{
	struct shim_guards *g = l->ctx->guards;
	CUdeviceptr word = word_of(l), slot = shim_launch_slot(l, 0);
	CUdeviceptr done = shim_launch_ctl(l, offsetof(struct gs_ctl, done));
	void *params[] = { &word, &slot, &done, &l->as.guard.ends };

	if (l->as.proxy && !l->as.guard.endless &&
	    REAL(cuLaunchKernel)(g->watch, 1, 1, 1, 1, 1, 1, 0, g->watchers, params, NULL) !=
		    CUDA_SUCCESS)
		l->as.proxy = 0;
}

static CUresult launch_kernel(struct shim_launch *l, CUstream stream)
{
	uint8_t *seen = &l->ctx->guards->seen[l->index];
	CUresult rc = CUDA_SUCCESS;

	if (*seen)
		rc = REAL(cuMemsetD8Async)(word_of(l) + GS_GUARD_SEEN_AT, 0,
					   GS_GUARD_BYTES - GS_GUARD_SEEN_AT, stream);
	*seen = l->as.guard.group != 0;
	return rc == CUDA_SUCCESS ? shim_launch_packed(l, l->as.dims.grid, stream) : rc;
}

/* If the driver takes the kernel and refuses the one at its end, a relaunch tries only that one
 * again: the kernel launched twice would run its blocks twice. */
static CUresult launch(struct shim_launch *l, CUstream stream)
{
	struct shim_guards *g = l->ctx->guards;
	CUdeviceptr word = word_of(l), slot = shim_launch_slot(l, 0);
	CUdeviceptr done = shim_launch_ctl(l, offsetof(struct gs_ctl, done));
	uint32_t group = l->as.guard.group;
	void *end[] = { &word, &slot, &done, &l->nt, &l->as.guard.unit, &group };
	CUresult rc = l->as.guard.endless ? CUDA_SUCCESS : launch_kernel(l, stream);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = REAL(cuLaunchKernel)(g->end, 1, 1, 1, group ? GS_GUARD_SEEN_COUNT : 1, 1, 1, 0, stream,
				  end, NULL);
	l->as.guard.endless = rc != CUDA_SUCCESS;
	if (rc == CUDA_SUCCESS)
		g->seen[l->index] = 0; /* the kernel at the end zeroes them */
	return rc;
}

static void signal_of(const struct shim_launch *l, struct shim_signal *to)
{
	*to = (struct shim_signal) { word_of(l) + GS_GUARD_UPPER_AT, 0, GS_GUARD_LEAVE_UPPER,
				     &l->ctx->guards->upper[l->index], word_of(l) };
}

static uint64_t finished(const struct shim_launch *l)
{
	uint64_t done = gs_page_load(l->slot->done);

	return done < l->nt ? done : l->nt;
}

/* What all the blocks that have not begun take to leave. */
static uint64_t skip_ns(const struct shim_launch *l)
{
	const struct shim_guards *g = l->ctx->guards;

	return l->nt * (g ? g->skip_ps : SKIP_PS) / 1000;
}

/* The time that a relaunch must run at least. */
static uint64_t least_run_ns(const struct shim_launch *l)
{
	return skip_ns(l) * SKIP_TIMES;
}

/* The first time it heeds at once. */
static uint64_t leave_ns(const struct shim_launch *l, uint64_t task_ns)
{
	uint64_t deaf_ns = l->progress.deaf ? least_run_ns(l) : 0;

	return (task_ns > deaf_ns ? task_ns : deaf_ns) + skip_ns(l);
}

/* The launch was told to leave while it still ignored orders, and ran so little that the relaunch
 * was not worth it. */
static int got_too_little(const struct shim_launch *l, uint64_t done)
{
	const struct shim_progress *p = &l->progress;
	uint64_t way_ns = least_run_ns(l); /* blocks with many threads take longer to leave */

	if (way_ns > p->least_ns)
		way_ns = p->least_ns;
	return done - p->began <= p->deaf && p->left_ns - p->out_ns < way_ns * (SKIP_TIMES + 1);
}

/* The number of blocks that a relaunch runs before it obeys an order. While the time of a block is
 * not known, it doubles until they are worth a relaunch. */
static uint64_t deaf_blocks(struct shim_launch *l, uint64_t done)
{
	struct shim_progress *p = &l->progress;
	uint64_t ns = p->left_ns - p->out_ns, n = p->deaf;

	if (p->left_ns && (!p->least_ns || ns < p->least_ns))
		p->least_ns = ns;
	if (l->time->tpt_ps)
		n = least_run_ns(l) * 1000 / l->time->tpt_ps;
	else if (p->left_ns && got_too_little(l, done))
		n *= 2;
	p->deaf = n > l->as.dims.workers ? n : l->as.dims.workers;
	return p->deaf;
}

static CUresult resume(const struct shim_session *s, struct shim_launch *l)
{
	CUstreamBatchMemOpParams write[2];
	uint64_t units = (l->nt + l->as.guard.unit - 1) / l->as.guard.unit, done = finished(l), n;

	(void)s;
	n = (done + deaf_blocks(l, done) + l->as.guard.unit - 1) / l->as.guard.unit;
	n = n < units ? n : units;
	put_guard(l, done / l->as.guard.unit);
	shim_write_op(write, 0, 64, word_of(l),
		      (n + (1ull << l->as.guard.group) - 1) >> l->as.guard.group);
	shim_write_op(write, 1, 32, started_of(l), 1);
	return REAL(cuStreamBatchMemOp_v2)(l->ctx->relaunch, 2, write, 0);
}

/* A value that no launch wants, so that the slot's next launch writes W. */
static void forget(struct shim_launch *l)
{
	__atomic_store_n(&l->ctx->guards->upper[l->index], 1, __ATOMIC_RELEASE);
}

static const struct shim_transform guarded = {
	.param_bytes = GS_GUARD_PARAM_BYTES,
	.doubtful_proxy = 1,
	.order_stands = 1,
	.equip = equip,
	.fits = fits,
	.prepare = prepare,
	.watch = watch,
	.launch = launch,
	.signal = signal_of,
	.resume = resume,
	.forget = forget,
	.leave_ns = leave_ns,
};

static void __attribute__((constructor)) add(void)
{
	shim_transform_add(PTX_TRANSFORM_GUARDED, &guarded);
}
