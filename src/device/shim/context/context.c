/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of CUDA contexts; see context.h. */
#define _GNU_SOURCE
#include "device/shim/context/context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/clock.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/base/wraps.h"
#include "device/shim/context/equip.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_context *contexts; /* under lock */
/* Under lock: records of destroyed contexts, the oldest first. A few always stay there: a thread
 * whose current context another one has destroyed may still have it in its cache. */
static struct {
	struct shim_context *first, **end;
	unsigned int n;
} retired = { .end = &retired.first };
#define RETIRED_LEAST 4
_Atomic unsigned int shim_context_reuses;
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

static struct shim_context *find(CUcontext ctx)
{
	struct shim_context *c;

	pthread_mutex_lock(&lock);
	for (c = contexts; c && (c->ctx != ctx || c->gone); c = c->next)
		;
	pthread_mutex_unlock(&lock);
	return c;
}

/* Under lock. */
static void retire(struct shim_context *c)
{
	c->next = NULL;
	*retired.end = c;
	retired.end = &c->next;
	retired.n++;
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
	if (!c)
		atomic_store(&fresh->gone, 0);
	else
		retire(fresh); /* not freed: the record may be in a thread's cache */
	pthread_mutex_unlock(&lock);
	return c ? c : fresh;
}

/* The oldest record of a destroyed context, if nobody needs it; else NULL. */
static struct shim_context *take_retired(void)
{
	struct shim_context *c = NULL;

	pthread_mutex_lock(&lock);
	if (retired.n > RETIRED_LEAST) {
		c = retired.first;
		retired.first = c->next;
		if (!retired.first)
			retired.end = &retired.first;
		retired.n--;
	}
	pthread_mutex_unlock(&lock);
	if (!c || (!atomic_load(&c->users) && shim_upcalls->context_is_free(c)))
		return c;
	pthread_mutex_lock(&lock);
	retire(c);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* A record for this context. It counts as gone until it is published. NULL: no memory. */
static struct shim_context *new_record(CUcontext ctx)
{
	struct shim_context *c = take_retired();

	if (c)
		atomic_fetch_add(&shim_context_reuses, 1);
	else
		c = shim_lines(sizeof(*c));
	if (!c)
		return NULL;
	atomic_store(&c->gone, 1);
	free(c->image);
	c->image = NULL;
	c->word = NULL;
	c->guards = NULL;
	c->page = 0;
	c->ctl = 0;
	c->may_preenqueue = 0;
	c->attached = 0;
	c->polled_ns = 0;
	c->local_bytes = 0;
	c->fault = CUDA_SUCCESS;
	c->ctx = ctx;
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
		c = new_record(ctx);
		if (!c)
			return NULL;
		if (shim_context_equip(c, s) < 0) {
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

/* Marks the context's records as gone. Is a thread of the shim in one of them? */
static int is_used(CUcontext ctx)
{
	int is = 0;

	pthread_mutex_lock(&lock);
	for (struct shim_context *c = contexts; c; c = c->next)
		if (c->ctx == ctx) {
			atomic_store(&c->gone, 1);
			is |= atomic_load(&c->users) != 0;
		}
	pthread_mutex_unlock(&lock);
	return is;
}

void shim_context_gone(CUcontext ctx)
{
	static const struct timespec nap = { 0, 20000 };
	uint64_t from = gs_clock_ns();
	int cancels;

	shim_context_changes();
	/* The driver-call barrier is closed; a thread that was cancelled here would never open it.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	while (is_used(ctx) && !shim_in_vain(from))
		nanosleep(&nap, NULL);
	pthread_setcancelstate(cancels, NULL);
	shim_upcalls->context_ends(ctx, 0);
}

/* Takes the records of destroyed contexts off the list. */
static void retire_destroyed(CUcontext ctx)
{
	struct shim_context **at = &contexts, *c;

	pthread_mutex_lock(&lock);
	while ((c = *at)) {
		if (c->gone && c->ctx == ctx && !c->view) {
			*at = c->next;
			retire(c);
		} else {
			at = &c->next;
		}
	}
	pthread_mutex_unlock(&lock);
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
	retire_destroyed(ctx); /* only now: what other rooms have kept of it is gone */
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
	retired.first = NULL;
	retired.end = &retired.first;
	retired.n = 0;
	last = NULL;
	known.ctx = NULL;
	known_device.uses = 0;
	shim_owned.cached.ctx = NULL;
}
