/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launching, and what a launch waits for.
 *
 * With the turn a launch goes straight to the driver; without it, it waits
 * for the daemon (DESIGN.md, "Turns").  An evictable kernel goes out as its
 * transformed twin with a wait behind it that the kernel's last block ends,
 * so whatever the program enqueues next stays behind it across evictions.
 * Anything else goes out as it is, between two marks that the GPU writes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "device/shim/force.h"
#include "device/shim/pool.h"
#include "device/shim/wraps.h"

/*
 * A shorter kernel is not worth evicting: it leaves by itself about as soon
 * as a hand-over takes (135 us between contexts on an H200, facts/h200.md).
 */
#define SHORT_KERNEL_PS (300ull * 1000 * 1000)
/* While nobody waits, what is over soon anyway goes out as the program wrote it. */
#define SHORT_ALONE_PS (2000ull * 1000 * 1000)
/* So much predicted time may queue up in kernels that cannot be evicted: alone, and while others wait. */
#define QUEUE_ALONE_NS (4 * GS_NS_PER_MS)
#define QUEUE_CONTENDED_NS (1 * GS_NS_PER_MS)
#define QUEUE_NAP_NS 20000
/* A futex wake takes 13 us, and 268 for one in a hundred (facts/h200.md): a short wait is spent awake. */
#define TURN_SPIN_NS (200ull * 1000)
#define TURN_NAP_NS (100ull * 1000 * 1000)
#define SAMPLE_EVERY 32
/* From TOEVICT until the workers see it, by a proxy (facts/h200.md). */
#define SIGNAL_NS 7000
/* A kernel of fewer waves of block-tasks might take one more for want of the proxy's worker. */
#define PROXY_WAVES 16

/* One launch as the program asked for it. */
struct request {
	CUfunction f;
	unsigned int grid[3], block[3], shared;
	CUstream stream;         /* explicit: never the ambiguous 0 of a _ptsz call */
	void **params, **extra;
	const CUlaunchConfig *config; /* cuLaunchKernelEx: with attributes */
	CUgraphExec graph;
	int cooperative;
};

/* The program's own launch, unchanged. */
static CUresult launch_original(const struct request *r)
{
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
	return REAL(cuLaunchKernel)(r->f, r->grid[0], r->grid[1], r->grid[2], r->block[0],
				    r->block[1], r->block[2], r->shared, r->stream, r->params,
				    r->extra);
}

static int capturing(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return REAL(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Does the stream synchronise with the legacy default stream? */
static int is_legacy(CUstream stream)
{
	unsigned int flags = 0;

	if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return 1;
	return REAL(cuStreamGetFlags)(stream, &flags) != CUDA_SUCCESS ||
	       !(flags & CU_STREAM_NON_BLOCKING);
}

/* Workers of the twin: as many blocks as the GPU holds at once. */
static unsigned int workers_of(struct shim_kernel *k, const struct request *r,
			       const struct shim_context *c)
{
	uint32_t threads = r->block[0] * r->block[1] * r->block[2];
	uint64_t key = (uint64_t)threads << 44 | (uint64_t)r->shared << 16;
	uint64_t known = k->occupancy;
	int blocks = 0;

	if ((known & ~UINT64_C(0xffff)) == key && (known & 0xffff))
		return (unsigned int)(known & 0xffff) * (unsigned int)c->sms;
	if (REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, k->twin, (int)threads,
							      r->shared) != CUDA_SUCCESS ||
	    blocks <= 0 || blocks > 0xffff)
		return 0;
	k->occupancy = key | (uint64_t)blocks;
	return (unsigned int)blocks * (unsigned int)c->sms;
}

/* The parameter block: the program's parameters, then the control block's address. */
static int pack_params(struct shim_launch *l, const struct request *r)
{
	const struct shim_kernel *k = l->kernel;
	size_t len = k->ctl_offset + sizeof(CUdeviceptr);
	CUdeviceptr ctl = shim_launch_ctl(l, 0);

	if (l->params_room < len) {
		unsigned char *grown = realloc(l->params, len);

		if (!grown)
			return -1;
		l->params = grown;
		l->params_room = len;
	}
	l->params_len = len;
	memset(l->params, 0, len);
	if (r->params) {
		for (uint32_t i = 0; i < k->nparam; i++)
			memcpy(l->params + k->param_offset[i], r->params[i], k->param_size[i]);
	} else if (r->extra) {
		const void *from = NULL;
		size_t n = 0;

		for (void **e = r->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
			if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
				from = e[1];
			else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
				n = *(const size_t *)e[1];
		}
		if (!from)
			return -1;
		memcpy(l->params, from, n < k->ctl_offset ? n : k->ctl_offset);
	} else if (k->nparam) {
		return -1;
	}
	memcpy(l->params + k->ctl_offset, &ctl, sizeof(ctl));
	return 0;
}

/*
 * The words of the control block that this launch needs otherwise than the
 * last one left them (mostly none), as memory operations of its stream: the
 * front end writes them in order, without a copy engine between two kernels.
 */
static unsigned int ctl_writes(const struct shim_session *s, struct shim_launch *l,
			       const struct request *r, CUstreamBatchMemOpParams *op)
{
	uint32_t aim_ns = gs_page_load(s->page->contended) ? SHIM_CHUNK_CONTENDED_NS :
							     SHIM_CHUNK_AIM_NS;
	struct gs_ctl *image = &l->ctx->image[l->index];
	unsigned int n = 0;

#define UPDATE(bits, field, v) \
	do { \
		if (image->field != (v)) { \
			image->field = (v); \
			memset(&op[n], 0, sizeof(op[n])); \
			op[n].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_##bits; \
			op[n].writeValue.address = shim_launch_ctl(l, offsetof(struct gs_ctl, field)); \
			op[n].writeValue.value64 = (v); \
			n++; \
		} \
	} while (0)
	UPDATE(64, total, l->nt);
	UPDATE(32, nctaid[0], r->grid[0]);
	UPDATE(32, nctaid[1], r->grid[1]);
	UPDATE(32, nctaid[2], r->grid[2]);
	UPDATE(32, workers, l->workers);
	UPDATE(32, proxy, l->proxy);
	UPDATE(32, chunk_ns, aim_ns);
	/* The last launch of this block may have been told to leave as it ended. */
	UPDATE(32, limit, SHIM_NO_LIMIT);
#undef UPDATE
	return n;
}

/*
 * May worker 0 be the proxy?  That takes a worker away: one of several in its
 * SM, whose share the others get, and for one wave more of many at worst.
 */
static int has_proxy(const struct shim_session *s, const struct shim_launch *l)
{
	if (s->signal != GS_SIGNAL_AUTO)
		return s->signal == GS_SIGNAL_PROXY && l->workers > 1;
	return l->workers >= 2 * (unsigned int)l->ctx->sms && l->nt / l->workers >= PROXY_WAVES;
}

/*
 * May this launch be evicted?  Then it is packed, and the hold has begun.
 * Otherwise the reason goes into the kernel's report.
 */
static int make_evictable(const struct shim_session *s, struct shim_launch *l, const struct request *r)
{
	struct shim_kernel *k = l->kernel;

	if (!k->twin || r->config || r->cooperative || r->graph)
		return 0;
	if (k->whole_warps && !(r->block[1] == 1 && r->block[2] == 1) && r->block[0] % 32)
		return 0;
	if (k->tpt_ps && k->tpt_ps * l->nt < SHORT_KERNEL_PS && !shim_force_counts(s))
		return 0;
	l->workers = workers_of(k, r, l->ctx);
	if (l->workers == 0 || l->nt <= l->workers || l->nt >> 62 || pack_params(l, r) < 0)
		return 0;
	l->legacy = (uint8_t)is_legacy(r->stream);
	l->stream = r->stream;
	if (!shim_hold_begin(l->stream, l->legacy))
		return 0;
	memcpy(l->block, r->block, sizeof(l->block));
	l->shared = r->shared;
	l->proxy = (uint8_t)has_proxy(s, l);
	l->nwrite = ctl_writes(s, l, r, l->write);
	return 1;
}

/* A claim of block-tasks, or one if that is longer, and the signal; 0: not known yet. */
static uint64_t leave_ns(const struct shim_launch *l)
{
	uint64_t task_ns = l->kernel->tpt_ps * l->workers / 1000;
	uint64_t claim_ns = 2 * (uint64_t)l->ctx->image[l->index].chunk_ns;

	if (!task_ns)
		return 0;
	return (task_ns > claim_ns ? task_ns : claim_ns) + SIGNAL_NS;
}

static void prepare(struct shim_session *s, struct shim_launch *l, struct shim_context *c,
		    struct shim_kernel *k, const struct request *r)
{
	static _Atomic uint64_t seq;
	uint64_t n = atomic_fetch_add(&k->launches, 1);

	l->ctx = c;
	l->kernel = k;
	l->nt = r->graph ? 1 : (uint64_t)r->grid[0] * r->grid[1] * r->grid[2];
	l->evictable = (uint8_t)make_evictable(s, l, r);
	atomic_fetch_add(&k->evictable_launches, l->evictable);
	/* The first few and then every so many launches are timed by events. */
	l->sampled = !r->graph && (n < 4 || n % SAMPLE_EVERY == 0);
	gs_page_store(l->stub->started, 0);
	gs_page_store(l->stub->kernel, k->number);
	gs_page_store(l->stub->flags, l->evictable ? GS_STUB_EVICTABLE : 0);
	gs_page_store(l->stub->nt, l->nt);
	gs_page_store(l->stub->done, 0);
	gs_page_store(l->stub->alone_ns, k->tpt_ps * l->nt / 1000);
	gs_page_store(l->stub->leave_ns, l->evictable ? leave_ns(l) : 0);
	gs_page_store(l->stub->evictions, 0);
	gs_page_store(l->stub->seq, atomic_fetch_add(&seq, 1));
}

/*
 * The daemon takes the turn back first and looks at the stubs then; we write
 * the stub first and look at the turn then: one of us sees the other.
 */
int shim_run_with_turn(struct gs_page *page, struct gs_stub *stub, uint32_t from)
{
	if (!gs_page_load(page->turn) || !gs_stub_move(stub, from, GS_K_RUNNING))
		return 0;
	if (atomic_load(&page->turn))
		return 1;
	if (!gs_stub_move(stub, GS_K_RUNNING, GS_K_READY))
		gs_stub_move(stub, GS_K_TOEVICT, GS_K_READY);
	return 0;
}

/* Wait until the launch may go.  0, or an error when no daemon may be done without. */
static CUresult wait_for_turn(struct shim_session *s, struct gs_stub *stub)
{
	struct gs_page *page = s->page;
	uint64_t spin_until;

	if (shim_run_with_turn(page, stub, GS_K_PREP))
		return CUDA_SUCCESS;
	gs_stub_move(stub, GS_K_PREP, GS_K_READY);
	gs_client_bell(s->client);
	spin_until = gs_clock_ns() + TURN_SPIN_NS;
	for (;;) {
		uint32_t bell = gs_page_load(page->bell);

		if (gs_stub_move(stub, GS_K_TORUN, GS_K_RUNNING) ||
		    shim_run_with_turn(page, stub, GS_K_READY))
			return CUDA_SUCCESS;
		if (!s->connected && s->absent == GS_ABSENT_FAIL)
			return CUDA_ERROR_SYSTEM_NOT_READY;
		if (gs_clock_ns() < spin_until)
			__builtin_ia32_pause();
		else
			gs_page_wait(page, bell, TURN_NAP_NS);
	}
}

/* Timing events around the kernel; without them it is merely not timed. */
static void sample_begin(struct shim_launch *l, CUstream stream)
{
	if (!l->sampled)
		return;
	if (l->event_ctx != l->ctx->ctx) {
		l->event_ctx = NULL;
		if (REAL(cuEventCreate)(&l->begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
		    REAL(cuEventCreate)(&l->end, CU_EVENT_DEFAULT) == CUDA_SUCCESS)
			l->event_ctx = l->ctx->ctx;
	}
	if (l->event_ctx != l->ctx->ctx ||
	    REAL(cuEventRecord)(l->begin, stream) != CUDA_SUCCESS)
		l->sampled = 0;
}

static void sample_end(struct shim_launch *l, CUstream stream)
{
	if (l->sampled && REAL(cuEventRecord)(l->end, stream) != CUDA_SUCCESS)
		l->sampled = 0;
}

CUresult shim_launch_twin(struct shim_launch *l, CUstream stream)
{
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, l->params,
		CU_LAUNCH_PARAM_BUFFER_SIZE, &l->params_len,
		CU_LAUNCH_PARAM_END,
	};
	CUresult rc = shim_force_arm(shim_session_peek(), l);

	if (rc != CUDA_SUCCESS)
		return rc;
	return REAL(cuLaunchKernel)(l->kernel->twin, l->workers, 1, 1, l->block[0], l->block[1],
				    l->block[2], l->shared, stream, NULL, extra);
}

static CUresult enqueue_evictable(struct shim_launch *l, const struct request *r)
{
	uint32_t *done = &l->ctx->image[l->index].done;
	CUresult rc = CUDA_SUCCESS;

	if (l->nwrite)
		rc = REAL(cuStreamBatchMemOp_v2)(r->stream, l->nwrite, l->write, 0);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_begin(l, r->stream);
	rc = shim_launch_twin(l, r->stream);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_end(l, r->stream);
	return REAL(cuStreamWaitValue32_v2)(r->stream,
					    shim_launch_ctl(l, offsetof(struct gs_ctl, done)), ++*done,
					    CU_STREAM_WAIT_VALUE_GEQ);
}

/*
 * The operations of one launch, with those of no other launch between them:
 * a kernel held between the mark that says "started" and the kernel behind it
 * (in this stream, or in one that it synchronises with) would keep off the
 * GPU what the daemon believes to be on it, and waits for.
 */
static pthread_mutex_t enqueuing = PTHREAD_MUTEX_INITIALIZER;

/*
 * A kernel that cannot be evicted is preempted by not launching the next one,
 * so only so much may queue up; the GPU is kept busy meanwhile.
 */
static void bound_queue(struct shim_session *s, struct shim_launch *l)
{
	static const struct timespec nap = { 0, QUEUE_NAP_NS };
	uint64_t alone_ns = gs_page_load(l->stub->alone_ns);

	for (;;) {
		uint64_t bound = gs_page_load(s->page->contended) ? QUEUE_CONTENDED_NS :
								     QUEUE_ALONE_NS;

		if (shim_launch_queued_ns() <= bound)
			break;
		shim_launch_reap(s);
		if (shim_launch_queued_ns() <= bound)
			break;
		nanosleep(&nap, NULL);
	}
	shim_launch_queue(l, alone_ns);
}

static CUresult enqueue_as_is(struct shim_launch *l, const struct request *r)
{
	CUresult rc = REAL(cuStreamWriteValue32_v2)(
		r->stream, shim_launch_stub(l, offsetof(struct gs_stub, started)), 1, 0);

	if (rc != CUDA_SUCCESS)
		return rc;
	sample_begin(l, r->stream);
	rc = launch_original(r);
	if (rc != CUDA_SUCCESS)
		return rc;
	sample_end(l, r->stream);
	return REAL(cuStreamWriteValue32_v2)(
		r->stream, shim_launch_stub(l, offsetof(struct gs_stub, kstate)), GS_K_DONE, 0);
}

static CUresult launch(const struct request *r)
{
	struct shim_session *s = shim_session();
	struct shim_context *c;
	struct shim_kernel *k;
	struct shim_launch *l;
	CUresult rc;

	if (!s || capturing(r->stream))
		return launch_original(r);
	c = shim_context_current(s);
	k = shim_kernel_find(r->graph ? (const void *)r->graph : (const void *)r->f);
	if (!c || !k)
		return launch_original(r);
	l = shim_launch_take(s);
	prepare(s, l, c, k, r);
	if (!l->evictable)
		bound_queue(s, l);
	rc = wait_for_turn(s, l->stub);
	if (rc == CUDA_SUCCESS) {
		pthread_mutex_lock(&enqueuing);
		rc = l->evictable ? enqueue_evictable(l, r) : enqueue_as_is(l, r);
		pthread_mutex_unlock(&enqueuing);
	}
	if (rc != CUDA_SUCCESS) {
		if (l->evictable)
			shim_hold_end(l->stream, l->legacy);
		shim_launch_drop(l);
		return rc;
	}
	atomic_store(&l->enqueued, 1);
	return CUDA_SUCCESS;
}

/* In a _ptsz call, stream 0 is the thread's own default stream. */
static CUstream per_thread(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

static CUresult launch_kernel(CUfunction f, const unsigned int dims[7], CUstream stream,
			      void **params, void **extra, int cooperative)
{
	struct request r = {
		.f = f,
		.grid = { dims[0], dims[1], dims[2] },
		.block = { dims[3], dims[4], dims[5] },
		.shared = dims[6],
		.stream = stream,
		.params = params,
		.extra = extra,
		.cooperative = cooperative,
	};

	return launch(&r);
}

#define LAUNCH_ARGS \
	CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, \
		unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, \
		void **params
#define DIMS ((const unsigned int[7]){ gx, gy, gz, bx, by, bz, shared })

SHIM_EXPORT CUresult cuLaunchKernel(LAUNCH_ARGS, void **extra)
{
	return launch_kernel(f, DIMS, stream, params, extra, 0);
}

SHIM_EXPORT CUresult cuLaunchKernel_ptsz(LAUNCH_ARGS, void **extra)
{
	return launch_kernel(f, DIMS, per_thread(stream), params, extra, 0);
}

SHIM_EXPORT CUresult cuLaunchCooperativeKernel(LAUNCH_ARGS)
{
	return launch_kernel(f, DIMS, stream, params, NULL, 1);
}

SHIM_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(LAUNCH_ARGS)
{
	return launch_kernel(f, DIMS, per_thread(stream), params, NULL, 1);
}

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction f, void **params,
			  void **extra, CUstream stream)
{
	struct request r = {
		.f = f,
		.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
		.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
		.shared = config->sharedMemBytes,
		.stream = stream,
		.params = params,
		.extra = extra,
		.config = config->numAttrs ? config : NULL,
	};

	return launch(&r);
}

SHIM_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
				      void **extra)
{
	return config ? launch_ex(config, f, params, extra, config->hStream)
		      : REAL(cuLaunchKernelEx)(config, f, params, extra);
}

SHIM_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f,
					   void **params, void **extra)
{
	return config ? launch_ex(config, f, params, extra, per_thread(config->hStream))
		      : REAL(cuLaunchKernelEx_ptsz)(config, f, params, extra);
}

SHIM_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	struct request r = { .graph = graph, .stream = stream };

	return launch(&r);
}

SHIM_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream)
{
	struct request r = { .graph = graph, .stream = per_thread(stream) };

	return launch(&r);
}
