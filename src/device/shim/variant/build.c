/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making variants; see build.h. */
#define _GNU_SOURCE
#include "device/shim/variant/build.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/thread.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/barrier.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/memory/local.h"
#include "device/shim/variant/recipe.h"

/* How many kernels may wait for their variants. */
#define WANTED_MAX 256
#define NICENESS 19
/* The thread rests as long as it has worked, and at most this long, so that it takes at most half a
 * processor. */
#define REST_MAX_NS (2 * GS_NS_PER_S)
/* How long to wait for a moment when no preemptible kernel is out. */
#define QUIET_NS GS_NS_PER_S
#define OTHERS_NAP_NS (50 * GS_NS_PER_US)

struct wanted {
	struct shim_kernel *kernel;
	struct shim_context *ctx;
	/* the times of the long launches; NULL: this is the first launch */
	struct shim_time *time;
	uint64_t takes_ns;
	struct shim_seen seen;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct wanted queue[WANTED_MAX]; /* under lock */
static unsigned int nqueue;             /* under lock */
static int started;                     /* under lock */
static _Atomic int stop, busy;

/* ---- one variant ------------------------------------------------------------------------- */

static uint32_t capability(CUdevice device)
{
	int major = 0, minor = 0;

	REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	return (uint32_t)(major * 10 + minor);
}

static CUresult load_module(CUmodule *module, const struct shim_made *made)
{
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *value = (void *)(uintptr_t)made->max_registers;

	return REAL(cuModuleLoadDataEx)(
		module, made->bytes, made->is_ptx && made->max_registers ? 1 : 0, &option, &value);
}

/*
 * The context must be current and the barrier closed. NULL: the driver does not accept the variant.
 */
static struct shim_variant *load(const struct shim_recipe *r, struct shim_made *made)
{
	struct shim_variant *v = calloc(1, sizeof(*v));
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	if (v)
		rc = load_module(&v->module, made);
	if (rc == CUDA_SUCCESS) {
		rc = REAL(cuModuleGetFunction)(&v->f, v->module, r->kernel->code->name);
		if (rc == CUDA_SUCCESS)
			rc = REAL(cuFuncLoad)(v->f);
		if (rc == CUDA_ERROR_NOT_SUPPORTED) /* a driver without lazy loading */
			rc = CUDA_SUCCESS;
		if (rc != CUDA_SUCCESS)
			REAL(cuModuleUnload)(v->module);
	}
	if (rc != CUDA_SUCCESS) {
		shim_log("kernel %s: the driver refuses its variant: error %d",
			 r->kernel->code->name, rc);
		free(v);
		return NULL;
	}
	v->ctx = r->ctx;
	v->transform = made->transform;
	v->by_cluster = made->by_cluster;
	v->group = made->group;
	v->whole_warps = made->whole_warps;
	v->made_of = made->made_of;
	v->params = made->params;
	made->params = (struct shim_layout) { 0 };
	v->local_bytes = shim_local_bytes(v->f);
	if (r->time)
		shim_time_again(r->time, SHIM_COMPARED);
	shim_variant_take_settings(r->kernel, v);
	return v;
}

/* Waits for a while until no preemptible kernel happens to be out: while the barrier is closed the
 * program's kernels go out as written. */
static void wait_for_quiet(const _Atomic int *over)
{
	static const struct timespec nap = { 0, GS_NS_PER_MS };
	uint64_t until = gs_clock_ns() + QUIET_NS;

	while (atomic_load(&shim_held[0]) && !*over && gs_clock_ns() < until)
		nanosleep(&nap, NULL);
}

/*
 * Loads the variant while no preemptible kernel is out: the driver takes its lock for that, and an
 * evicted kernel could not be relaunched meanwhile. If the program's module goes before the variant
 * is ready, the variant is not used, even if the module has been loaded again.
 */
static enum ptx_reason install(const struct shim_recipe *r, struct shim_made *made)
{
	enum ptx_reason why = PTX_REASON_NOT_BUILT;
	struct shim_variant *v = NULL;
	CUcontext popped;

	if (r->time)
		wait_for_quiet(r->stop);
	shim_barrier_enter(0);
	if (shim_context_use(r->ctx)) {
		if (shim_kernel_use(r->kernel)) {
			why = PTX_REASON_REFUSED;
			if (REAL(cuCtxPushCurrent_v2)(r->ctx->ctx) == CUDA_SUCCESS) {
				v = load(r, made);
				REAL(cuCtxPopCurrent_v2)(&popped);
			}
			if (v)
				shim_variant_add(r->kernel->code, v);
			shim_kernel_unuse(r->kernel);
		}
		shim_context_unuse(r->ctx);
	}
	shim_barrier_leave(0);
	return v ? PTX_REASON_NONE : why;
}

static enum ptx_reason make(const struct shim_recipe *r, int fresh, int *from_cache)
{
	struct shim_made made;
	enum ptx_reason why = shim_recipe_make(r, fresh, &made);

	*from_cache = why == PTX_REASON_NONE && made.from_cache;
	if (why == PTX_REASON_NONE && !*r->stop)
		why = install(r, &made);
	shim_made_free(&made);
	return why;
}

static void build(struct shim_session *s, const struct wanted *w)
{
	struct shim_kernel *k = w->kernel;
	struct shim_recipe r = { k, w->ctx, w->time, capability(w->ctx->device), w->seen, &stop };
	uint64_t from = gs_clock_ns();
	CUstreamCaptureMode mode;
	enum ptx_reason why;
	int from_cache;

	shim_capture_relax(&mode);
	why = make(&r, 0, &from_cache);
	/* After an update the driver may refuse what an earlier process has made. */
	if (why == PTX_REASON_REFUSED && from_cache)
		why = make(&r, 1, &from_cache);
	shim_capture_restore(mode);
	if (why != PTX_REASON_NONE) {
		shim_log("kernel %s stays as it is: %s", k->code->name, ptx_reason_words(why));
		k->code->reason = why;
		shim_kernel_tell(s, k->code);
	} else {
		shim_log("kernel %s: its variant is ready after %llu us%s", k->code->name,
			 (unsigned long long)((gs_clock_ns() - from) / GS_NS_PER_US),
			 from_cache ? ", from the cache" : "");
	}
	/* Try again later for another context, or if the GPU was only too busy. */
	atomic_store(&k->code->build, why == PTX_REASON_NONE || why == PTX_REASON_NOT_BUILT ?
					      SHIM_BUILD_NOT :
					      SHIM_BUILD_OVER);
}

/* ---- the thread ------------------------------------------------------------------------ */

/* Takes the longest kernel out of the queue; waits until there is one. Returns 0 if the thread must
 * end. */
static int take(struct wanted *w)
{
	unsigned int longest = 0;

	pthread_mutex_lock(&lock);
	while (!nqueue && !stop)
		pthread_cond_wait(&more, &lock);
	for (unsigned int i = 1; i < nqueue; i++)
		if (queue[i].takes_ns > queue[longest].takes_ns)
			longest = i;
	if (!stop) {
		*w = queue[longest];
		queue[longest] = queue[--nqueue];
		busy = 1;
	}
	pthread_mutex_unlock(&lock);
	return !stop;
}

static void rest(uint64_t ns)
{
	struct timespec nap = { 0, 10 * GS_NS_PER_MS };

	for (uint64_t until = gs_clock_ns() + (ns < REST_MAX_NS ? ns : REST_MAX_NS);
	     !stop && gs_clock_ns() < until;)
		nanosleep(&nap, NULL);
}

static void *run(void *session)
{
	struct wanted w = { 0 };

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
	while (take(&w)) {
		uint64_t from = gs_clock_ns();

		build(session, &w);
		atomic_store(&busy, 0);
		rest(gs_clock_ns() - from);
	}
	return NULL;
}

/* Under lock. */
static int start(struct shim_session *s)
{
	pthread_t thread;

	if (started)
		return 0;
	if (gs_thread_start(&thread, 0, run, s) < 0)
		return -1;
	pthread_setname_np(thread, "gpushare-build");
	pthread_detach(thread);
	started = 1;
	return 0;
}

static void want(struct shim_session *s, const struct wanted *w)
{
	_Atomic uint32_t *state = &w->kernel->code->build;
	uint32_t not = SHIM_BUILD_NOT;
	int taken = 0;

	if (!atomic_compare_exchange_strong(state, &not, SHIM_BUILD_WANTED))
		return;
	pthread_mutex_lock(&lock);
	if (nqueue < WANTED_MAX && !stop && start(s) == 0) {
		queue[nqueue++] = *w;
		taken = 1;
		pthread_cond_signal(&more);
	}
	pthread_mutex_unlock(&lock);
	if (!taken)
		atomic_store(state, SHIM_BUILD_NOT);
}

void shim_build_consider(struct shim_session *s, struct shim_kernel *k, struct shim_context *c,
			 struct shim_time *time, const struct shim_seen *seen, uint64_t takes_ns)
{
	struct wanted w = { k, c, time, takes_ns, *seen };

	if (takes_ns > s->variant_min_ns && gs_page_load(s->page->shared) &&
	    k->code->build == SHIM_BUILD_NOT)
		want(s, &w);
}

void shim_build_first(struct shim_session *s, struct shim_kernel *k, struct shim_context *c,
		      const struct shim_seen *seen)
{
	static const struct timespec nap = { 0, OTHERS_NAP_NS };
	struct wanted w = { .kernel = k, .ctx = c, .seen = *seen };
	uint32_t not = SHIM_BUILD_NOT;
	CUstreamCaptureMode mode;

	if (shim_variant_in(k->code, c))
		return;
	shim_capture_relax(&mode);
	shim_variant_adopt(k, c);
	shim_capture_restore(mode);
	if (s->variant_min_ns || shim_variant_in(k->code, c))
		return;
	if (atomic_compare_exchange_strong(&k->code->build, &not, SHIM_BUILD_WANTED))
		build(s, &w);
	while (k->code->build == SHIM_BUILD_WANTED && !stop)
		nanosleep(&nap, NULL);
}

void shim_build_stop(void)
{
	static const struct timespec nap = { 0, GS_NS_PER_MS };
	uint64_t until = gs_clock_ns() + GS_NS_PER_S;

	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	while (busy && gs_clock_ns() < until)
		nanosleep(&nap, NULL);
}

void shim_build_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&more, NULL);
	nqueue = 0;
	started = 0;
	busy = 0;
	stop = 0;
}
