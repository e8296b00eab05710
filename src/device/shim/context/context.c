/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shim's own resources in a CUDA context; see context.h. */
#define _GNU_SOURCE
#include "device/shim/context/context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/clock.h"
#include "device/ptx/guard.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/base/wraps.h"
#include "device/shim/context/part.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_context *contexts;      /* under lock; records are never freed */
static __thread struct shim_context *last; /* the context in which this thread launched last */
/* The thread's current context, as long as no call of the program has changed it. Asking the driver
 * costs 60 ns (H200), more than half of what a launch may cost. */
static __thread struct shim_cached known;
/* The current context's device. It is cached separately, since a program may allocate long before a
 * record exists. */
static __thread struct {
	CUdevice is;
	unsigned int uses; /* how many more times it may be used without asking */
} known_device;

#define TRY(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_ != CUDA_SUCCESS) { \
			shim_log("context %p: " #call " failed: %d", (void *)c->ctx, rc_); \
			return -1; \
		} \
	} while (0)

/*
 * Registers the page with the GPU. A registered page is unregistered for all contexts when one of
 * them is destroyed, and no address can be registered twice. So each context gets a mapping at an
 * address of its own.
 */
static int show_page(struct shim_context *c, struct shim_session *s)
{
	/* A second mapping of the same shared memory. */
	void *view = mremap(s->page, 0, gs_page_shared(s->page), MREMAP_MAYMOVE);
	CUresult rc;

	if (view == MAP_FAILED)
		return -1;
	madvise(view, gs_page_shared(s->page), MADV_DONTFORK);
	rc = REAL(cuMemHostRegister_v2)(view, gs_page_shared(s->page),
					CU_MEMHOSTREGISTER_DEVICEMAP);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuMemHostGetDevicePointer_v2)(&c->page, view, 0);
	if (rc == CUDA_SUCCESS) {
		c->view = view;
		return 0;
	}
	shim_log("context %p: the page cannot be registered: %d", (void *)c->ctx, rc);
	munmap(view, gs_page_shared(s->page));
	return -1;
}

/*
 * Tries the operations that a launch enqueues beside its kernel. Some GPUs and drivers lack them
 * (CAN_USE_STREAM_MEM_OPS, under WSL or a hypervisor), and then every launch would fail where the
 * program's own launch would not.
 */
static CUresult try_operations(const struct shim_context *c)
{
	CUstreamBatchMemOpParams op;
	CUresult rc = REAL(cuStreamWriteValue32_v2)(
		c->relaunch, c->ctl + offsetof(struct gs_ctl, workers), 0, 0);

	memset(&op, 0, sizeof(op));
	op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	op.writeValue.address = c->ctl + offsetof(struct gs_ctl, total);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamBatchMemOp_v2)(c->relaunch, 1, &op, 0);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamWaitValue32_v2)(c->relaunch,
						  c->ctl + offsetof(struct gs_ctl, done), 0,
						  CU_STREAM_WAIT_VALUE_GEQ);
	return rc;
}

/* Tries a wait for a word in host memory, which the shim can do without. */
static int try_to_arm(const struct shim_context *c)
{
	return REAL(cuStreamWaitValue32_v2)(c->relaunch,
					    c->page + offsetof(struct gs_page, head.slots), 0,
					    CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS;
}

static int equip(struct shim_context *c, struct shim_session *s)
{
	const size_t bytes = (GS_PAGE_SLOTS + 1) * sizeof(struct gs_ctl);
	struct gs_ctl *image;
	int least, greatest;
	CUresult rc;

	TRY(REAL(cuCtxGetDevice)(&c->device));
	TRY(REAL(cuDeviceGetAttribute)(&c->sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				       c->device));
	if (show_page(c, s) < 0)
		return -1;
	TRY(REAL(cuMemAlloc_v2)(&c->ctl, bytes));
	TRY(REAL(cuCtxGetStreamPriorityRange)(&least, &greatest));
	TRY(REAL(cuStreamCreateWithPriority)(&c->control, CU_STREAM_NON_BLOCKING, greatest));
	TRY(REAL(cuStreamCreateWithPriority)(&c->relaunch, CU_STREAM_NON_BLOCKING, least));
	for (int i = 0; i < SHIM_CONTEXT_EVENTS; i++)
		TRY(REAL(cuEventCreate)(&c->event[i], CU_EVENT_DISABLE_TIMING));
	if (s->signal == GS_SIGNAL_DMA) {
		TRY(REAL(cuMemAllocHost_v2)((void **)&c->word, 3 * sizeof(*c->word)));
		c->word[0] = 0;
		c->word[1] = SHIM_NO_LIMIT;
		c->word[2] = GS_GUARD_LEAVE_UPPER;
	}
	image = calloc(GS_PAGE_SLOTS + 1, sizeof(*image)); /* the last is for the part */
	if (!image)
		return -1;
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++) {
		image[i].limit = SHIM_NO_LIMIT;
		image[i].chunk = SHIM_CHUNK_FIRST;
		/* If evictions are counted in block-tasks, claims must be of one block-task. */
		image[i].chunk_max =
			s->alone && s->force.kind == SHIM_FORCE_TASKS ? 1 : SHIM_CHUNK_MAX;
		image[i].chunk_ns = SHIM_CHUNK_AIM_NS;
		image[i].rearm = 1;
		image[i].slot =
			c->page + offsetof(struct gs_page, slot) + i * sizeof(struct gs_slot);
	}
	c->state.part_word = shim_part_word(s->page);
	image[GS_PAGE_SLOTS].next = c->state.part_word;
	c->image = image;
	/* No preemptible kernel of the context is out yet, so a plain copy is safe here. */
	rc = REAL(cuMemcpyHtoDAsync_v2)(c->ctl, image, bytes, c->relaunch);
	if (rc == CUDA_SUCCESS)
		rc = try_operations(c);
	c->may_preenqueue = rc == CUDA_SUCCESS && try_to_arm(c);
	if (rc == CUDA_SUCCESS)
		rc = REAL(cuStreamSynchronize)(c->relaunch);
	if (rc == CUDA_SUCCESS)
		return 0;
	shim_log("context %p: the control blocks cannot be written, or waited for: %d",
		 (void *)c->ctx, rc);
	free(image);
	c->image = NULL;
	return -1;
}

struct shim_context *shim_context_first(void)
{
	struct shim_context *c;

	pthread_mutex_lock(&lock);
	c = contexts;
	pthread_mutex_unlock(&lock);
	return c;
}

static struct shim_context *find(CUcontext ctx)
{
	struct shim_context *c;

	pthread_mutex_lock(&lock);
	for (c = contexts; c && (c->ctx != ctx || c->gone); c = c->next)
		;
	pthread_mutex_unlock(&lock);
	return c;
}

/*
 * Adds a new record to the list, unless another thread has equipped the same context meanwhile. All
 * threads that launch in a context must use one record, since order.c compares streams by it. The
 * other record's device memory and streams stay in the context and go with it: releasing them could
 * wait for a kernel that the other thread has out.
 */
static struct shim_context *publish(struct shim_context *fresh)
{
	struct shim_context *c;

	pthread_mutex_lock(&lock);
	for (c = contexts; c && (c->ctx != fresh->ctx || c->gone || !c->image); c = c->next)
		;
	if (!c) {
		fresh->next = contexts;
		contexts = fresh;
	}
	pthread_mutex_unlock(&lock);
	if (!c)
		return fresh;
	free(fresh->image);
	free(fresh);
	return c;
}

/* `ctx` is the thread's current context: checks whether the cache had it. */
static void check_known(CUcontext ctx)
{
	if (known.ctx && !known.ctx->gone && known.ctx->ctx != ctx &&
	    shim_say_uncommon(SHIM_UNCOMMON_CONTEXT))
		shim_log(
			"the current context changes without a call that the shim sees: the driver is asked for it at each launch");
}

static void drop_cached(void)
{
	struct shim_owned *own = shim_owned_here();

	known.ctx = NULL;
	if (own)
		own->cached.ctx = NULL;
}

/* The launch thread counts in shim_owned. Mark the thread's own record as used up, in case it is no
 * longer the launch thread later. */
static struct shim_context *cache_context(struct shim_context *c)
{
	struct shim_owned *own = shim_owned_here();

	last = c;
	if (!c->image)
		return NULL;
	known = (struct shim_cached) { c, 0 };
	if (own) {
		own->cached = known;
		known.since = SHIM_CACHED_MAX;
	}
	return c;
}

struct shim_context *shim_context_current(struct shim_session *s)
{
	struct shim_context *c;
	CUcontext ctx = NULL;
	CUresult rc = REAL_AT_ONCE(cuCtxGetCurrent)(&ctx);

	if (rc == CUDA_SUCCESS)
		check_known(ctx);
	drop_cached();
	if (rc != CUDA_SUCCESS || !ctx)
		return NULL;
	if (last && last->ctx == ctx && !last->gone)
		return cache_context(last);
	c = find(ctx);
	if (!c) {
		c = shim_lines(sizeof(*c));
		if (!c)
			return NULL;
		c->ctx = ctx;
		if (equip(c, s) < 0) {
			c->image = NULL;
			shim_notice(
				"a CUDA context cannot be shared, so its kernels run unmanaged; set GPUSHARE_LOG to see why");
		}
		c = publish(c);
	}
	return cache_context(c);
}

struct shim_cached *shim_cached_here(void)
{
	struct shim_owned *own = shim_owned_here();

	return own ? &own->cached : &known;
}

struct shim_context *shim_context_known(struct shim_session *s)
{
	struct shim_cached *cached = shim_cached_here();

	return shim_context_is_cached(cached) && !shim_is_uncommon(SHIM_UNCOMMON_CONTEXT) ?
		       cached->ctx :
		       shim_context_current(s);
}

CUcontext shim_context_handle(void)
{
	CUcontext ctx = NULL;

	return REAL_AT_ONCE(cuCtxGetCurrent)(&ctx) == CUDA_SUCCESS ? ctx : NULL;
}

CUresult shim_context_device(CUdevice *device)
{
	CUresult rc;

	if (known_device.uses && !shim_is_uncommon(SHIM_UNCOMMON_CONTEXT)) {
		known_device.uses--;
		*device = known_device.is;
		return CUDA_SUCCESS;
	}
	rc = REAL(cuCtxGetDevice)(device);
	if (rc == CUDA_SUCCESS) {
		known_device.is = *device;
		known_device.uses = SHIM_CACHED_MAX;
	}
	return rc;
}

void shim_context_changes(void)
{
	known_device.uses = 0;
	drop_cached();
}

/* This adds to `users` and then reads `gone`; shim_context_gone() writes `gone` and then reads
 * `users`. So at least one of the two notices the other. */
int shim_context_use(struct shim_context *c)
{
	atomic_fetch_add(&c->users, 1);
	if (!atomic_load(&c->gone))
		return 1;
	shim_context_unuse(c);
	return 0;
}

void shim_context_unuse(struct shim_context *c)
{
	atomic_fetch_sub(&c->users, 1);
}

void shim_context_local_unknown(CUcontext ctx)
{
	pthread_mutex_lock(&lock);
	for (struct shim_context *c = contexts; c; c = c->next)
		if (c->ctx == ctx)
			c->local_bytes = 0;
	pthread_mutex_unlock(&lock);
}

void shim_context_gone(CUcontext ctx)
{
	static const struct timespec nap = { 0, 20000 };
	uint64_t from = gs_clock_ns();
	struct shim_context *first;
	int cancels;

	known_device.uses = 0;
	pthread_mutex_lock(&lock);
	first = contexts;
	for (struct shim_context *c = first; c; c = c->next)
		if (c->ctx == ctx)
			atomic_store(&c->gone, 1);
	pthread_mutex_unlock(&lock);
	/* The driver-call barrier is closed; a thread that was cancelled here would never open it.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	for (struct shim_context *c = first; c; c = c->next)
		while (c->ctx == ctx && atomic_load(&c->users) && !shim_in_vain(from))
			nanosleep(&nap, NULL);
	pthread_setcancelstate(cancels, NULL);
	shim_upcalls->context_ends(ctx, 0);
}

void shim_context_destroyed(CUcontext ctx)
{
	pthread_mutex_lock(&lock);
	for (struct shim_context *c = contexts; c; c = c->next) {
		if (!c->gone || c->ctx != ctx)
			continue;
		if (!c->fault)
			c->fault = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		if (c->view)
			munmap(c->view, gs_page_shared(c->view));
		c->view = NULL;
	}
	pthread_mutex_unlock(&lock);
	shim_upcalls->context_ends(ctx, 1);
}

/*
 * Skips records of contexts that had the same handle before and are gone. If another thread has
 * launched in the context meanwhile, so that it was equipped anew, that record is the valid one:
 * order.c would take two records for two contexts.
 */
void shim_context_stays(CUcontext ctx)
{
	struct shim_context *c;

	pthread_mutex_lock(&lock);
	for (c = contexts; c && (c->ctx != ctx || (c->gone && !c->view)); c = c->next)
		;
	if (c)
		atomic_store(&c->gone, 0);
	pthread_mutex_unlock(&lock);
}

unsigned int shim_context_attached(CUcontext ctx, int by)
{
	struct shim_context *c;
	unsigned int was = 0;

	pthread_mutex_lock(&lock);
	for (c = contexts; c && (c->ctx != ctx || c->gone); c = c->next)
		;
	if (c) {
		was = c->attached;
		if (was || by > 0)
			c->attached += (unsigned int)by;
	}
	pthread_mutex_unlock(&lock);
	return was;
}

void shim_context_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	contexts = NULL;
	last = NULL;
	known.ctx = NULL;
	known_device.uses = 0;
	shim_owned.cached.ctx = NULL;
}
