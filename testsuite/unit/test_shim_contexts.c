/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts that end, or do not after all, while others are in them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/launch/agent.h"
#include "device/shim/context/context.h"
#include "device/shim/context/order.h"
#include "device/shim/base/shim.h"
#include "fake_driver.h"
#include "shim_rig.h"

#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

static struct shim_context *current(void)
{
	return shim_context_current(shim_session());
}

/* Somebody launches in it while the driver is asked: there is one record of it afterwards, not two.
 */
static void test_one_record_of_a_context_that_stays(void **unused)
{
	struct shim_context *first = current(), *second;

	(void)unused;
	shim_context_gone(first->ctx);
	second = current();
	assert_ptr_not_equal(second, first);
	shim_context_stays(first->ctx);
	assert_int_equal(first->gone, 1);
	assert_int_equal(second->gone, 0);
	assert_ptr_equal(current(), second);
}

/* What a fault had ended before it was destroyed is not there again when the next one of its handle
 * stays. */
static void test_what_is_gone_stays_gone(void **unused)
{
	struct shim_context *first = current(), *second;

	(void)unused;
	first->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
	shim_context_gone(first->ctx);
	fake_driver_reuse();
	shim_context_destroyed(first->ctx);
	second = current();
	assert_ptr_not_equal(second, first);
	shim_context_gone(second->ctx);
	shim_context_stays(second->ctx);
	assert_int_equal(first->gone, 1);
	assert_ptr_equal(current(), second);
}

/* ---- the primary context ----------------------------------------------------- */

/* As a driver has it: how often it is retained, and the number of the one there is. */
static unsigned int refs;
static unsigned long long number;
static void (*meanwhile)(void);         /* another thread does it once all but one have released */
static int retained_at_once;            /* or retains when the last one has */
static const struct shim_context *seen; /* was it known to go when it went? */
static int was_known;

static CUresult primary_state(CUdevice dev, unsigned int *flags, int *active)
{
	(void)dev;
	*flags = 0;
	*active = refs > 0;
	return CUDA_SUCCESS;
}

static CUresult primary_retain(CUcontext *ctx, CUdevice dev)
{
	(void)dev;
	number += refs++ == 0;
	return REAL(cuCtxGetCurrent)(ctx); /* whichever comes has the handle of the one before */
}

static CUresult primary_release(CUdevice dev)
{
	void (*do_that)(void) = meanwhile;
	CUcontext ctx;

	(void)dev;
	if (--refs == 1 && do_that) {
		meanwhile = NULL;
		do_that();
		return CUDA_SUCCESS;
	}
	if (refs)
		return CUDA_SUCCESS;
	was_known = seen && seen->gone;
	fake_driver_reuse();
	if (retained_at_once) {
		retained_at_once = 0;
		primary_retain(&ctx, 0);
	}
	return CUDA_SUCCESS;
}

static CUresult context_id(CUcontext ctx, unsigned long long *id)
{
	(void)ctx;
	*id = number;
	return CUDA_SUCCESS;
}

static void primary_driver(void)
{
	PUT(cuDevicePrimaryCtxGetState, primary_state);
	PUT(cuDevicePrimaryCtxRetain, primary_retain);
	PUT(cuDevicePrimaryCtxRelease_v2, primary_release);
	PUT(cuCtxGetId, context_id);
}

/* Another thread has the next one by the time that we ask: it is not taken for the one that went.
 */
static void test_the_next_primary_context(void **unused)
{
	struct shim_context *c;
	CUcontext ctx;

	(void)unused;
	primary_driver();
	assert_int_equal(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	c = current();
	assert_ptr_equal(c->ctx, ctx);
	retained_at_once = 1;
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	assert_int_equal(refs, 1);
	assert_int_equal(c->gone, 1);
	assert_null(c->view);
	assert_int_equal(c->fault, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_ptr_not_equal(current(), c);
	/* It is retained past us, so it stays. */
	c = current();
	assert_int_equal(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	assert_int_equal(refs, 1);
	assert_ptr_equal(current(), c);
	refs = 0;
}

static void release_too(void)
{
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
}

/* Another thread releases it while one has not come back from the driver: it knows that it is the
 * last. */
static void test_two_release_at_once(void **unused)
{
	CUcontext ctx;

	(void)unused;
	primary_driver();
	for (int i = 0; i < 2; i++)
		assert_int_equal(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	seen = current();
	meanwhile = release_too;
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	assert_null(meanwhile);
	assert_int_equal(refs, 0);
	assert_int_equal(was_known, 1);
	seen = NULL;
}

/* ---- the current context ------------------------------------------------------- */

#define OTHER_CONTEXT ((CUcontext)0x900)

static CUcontext is_current;
static unsigned int requested;

static CUresult answer(CUcontext *ctx)
{
	requested++;
	*ctx = is_current;
	return CUDA_SUCCESS;
}

static CUresult make_current(CUcontext ctx)
{
	is_current = ctx;
	return CUDA_SUCCESS;
}

static CUresult make_and_push(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags,
			      CUdevice dev)
{
	(void)params;
	(void)flags;
	(void)dev;
	*ctx = is_current = OTHER_CONTEXT;
	return CUDA_SUCCESS;
}

static CUcontext below = FAKE_CONTEXT;

static CUresult push(CUcontext ctx)
{
	below = is_current;
	is_current = ctx;
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *ctx)
{
	*ctx = is_current;
	is_current = below;
	below = FAKE_CONTEXT;
	return CUDA_SUCCESS;
}

static struct shim_context *known(void)
{
	return shim_context_known(shim_session());
}

static void requesting_driver(void)
{
	PUT(cuCtxGetCurrent, answer);
	PUT(cuCtxSetCurrent, make_current);
	PUT(cuCtxPushCurrent_v2, push);
	PUT(cuCtxPopCurrent_v2, pop);
	PUT(cuCtxCreate_v4, make_and_push);
	is_current = FAKE_CONTEXT;
	shim_context_changes();
}

/* The driver is asked once, and again whenever a call may have changed it. */
static void test_a_context_is_known(void **unused)
{
	struct shim_context *first, *second;
	CUcontext ctx;

	(void)unused;
	requesting_driver();
	first = known();
	assert_ptr_equal(first->ctx, FAKE_CONTEXT);
	requested = 0;
	assert_ptr_equal(known(), first);
	assert_int_equal(requested, 0);
	assert_int_equal(cuCtxCreate_v4(&ctx, NULL, 0, 0), CUDA_SUCCESS);
	second = known();
	assert_ptr_equal(second->ctx, ctx);
	assert_int_equal(cuCtxPopCurrent_v2(&ctx), CUDA_SUCCESS);
	assert_ptr_equal(known(), first);
	assert_int_equal(cuCtxPushCurrent_v2(second->ctx), CUDA_SUCCESS);
	assert_ptr_equal(known(), second);
	assert_int_equal(cuCtxSetCurrent(first->ctx), CUDA_SUCCESS);
	assert_ptr_equal(known(), first);
	assert_int_equal(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	assert_null(known());
	assert_null(known());
	assert_int_equal(cuCtxSetCurrent(first->ctx), CUDA_SUCCESS);
	assert_ptr_equal(known(), first);
	requested = 0;
	shim_context_gone(
		first->ctx); /* by another thread, and the driver gives its handle again */
	assert_ptr_not_equal(known(), first);
	assert_int_equal(requested, 1);
}

/* ---- a thread with the number of one that has ended ---- */

static __thread CUcontext threads_own;

static CUresult answer_each(CUcontext *ctx)
{
	requested++;
	*ctx = threads_own;
	return CUDA_SUCCESS;
}

static CUresult make_current_each(CUcontext ctx)
{
	threads_own = ctx;
	return CUDA_SUCCESS;
}

struct successor {
	CUcontext ctx;
	uintptr_t number;
	const struct shim_context *went_in;
	unsigned int requested;
};

/* The first launch is asked for; and what rides then is in that context. */
static void *launch_there(void *arg)
{
	struct successor *t = arg;
	struct shim_section p;

	t->number = shim_self();
	cuCtxSetCurrent(t->ctx);
	requested = 0;
	t->went_in = known();
	t->requested = requested;
	shim_order_enter(&p, t->went_in, STREAM, 0, 0);
	shim_order_leave(&p);
	known(); /* from here on the owner's, if it is */
	assert_ptr_equal(known(), t->went_in);
	return NULL;
}

static void test_a_successor_has_a_context_of_its_own(void **unused)
{
	struct successor t[2] = { { .ctx = FAKE_CONTEXT }, { .ctx = OTHER_CONTEXT } };
	pthread_t thread;

	(void)unused;
	PUT(cuCtxGetCurrent, answer_each);
	PUT(cuCtxSetCurrent, make_current_each);
	shim_order_forked();
	shim_order_begin();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&thread, NULL, launch_there, &t[i]), 0);
		pthread_join(thread, NULL);
		assert_ptr_equal(t[i].went_in->ctx, t[i].ctx);
		assert_int_equal(t[i].requested, 1);
	}
	assert_int_equal(t[0].number, t[1].number); /* else this says nothing */
	assert_int_equal(shim_launch_thread, t[0].number);
	shim_order_forked();
}

static const struct shim_launch *launch_of(const struct gs_slot *slot)
{
	return shim_launch_at((uint32_t)(slot - page->slot));
}

/* Launches that go untracked do not ask; one with a slot does, and goes by the answer: if that is
 * not what was known, all ask. */
static void test_who_requests(void **unused)
{
	static const unsigned int block[3] = { 32, 1, 1 };
	struct shim_time *time = shim_kernel_time(shim_kernel_find(kernel), block, LONG_GRID);
	uint64_t untracked, tpt_ps = time->tpt_ps, due = time->due;

	(void)unused;
	requesting_driver();
	known();
	time->tpt_ps = 1000;
	time->due = UINT64_MAX;
	assert_int_equal(launch(kernel, LONG_GRID),
			 CUDA_SUCCESS); /* the first one in this context */
	requested = 0;
	untracked = shim_time_untracked(time);
	for (int i = 0; i < 3; i++)
		assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	assert_int_equal(shim_time_untracked(time) - untracked, 3);
	assert_int_equal(requested, 0);
	is_current = OTHER_CONTEXT; /* past us */
	time->tpt_ps = 0;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	assert_int_not_equal(requested, 0);
	assert_ptr_equal(launch_of(active())->ctx->ctx, OTHER_CONTEXT);
	finish_all();
	EVENTUALLY(all_prepared());
	time->tpt_ps = tpt_ps;
	time->due = due;
	for (int i = 0; i < 3; i++) {
		is_current = i % 2 ? OTHER_CONTEXT : FAKE_CONTEXT;
		assert_ptr_equal(known()->ctx, is_current);
	}
}

/* However long nobody launches with a slot. */
static void test_what_is_known_is_requested_again(void **unused)
{
	(void)unused;
	requesting_driver();
	known();
	requested = 0;
	for (int i = 0; i < 1000; i++)
		known();
	assert_in_range(requested, 5, 20);
}

/* ---- the end ------------------------------------------------------------------- */

/* Whoever is in a context for good keeps the process from nothing when it ends.  Last: the agent
 * ends. */
static void test_an_end_is_not_waited_for(void **unused)
{
	struct shim_context *c = current();

	(void)unused;
	assert_true(shim_context_use(c));
	shim_agent_stop(shim_session());
	shim_context_gone(c->ctx);
	assert_int_equal(c->users, 1);
	shim_context_unuse(c);
}

int shim_contexts(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_one_record_of_a_context_that_stays),
		SHIM(test_what_is_gone_stays_gone),
		SHIM(test_the_next_primary_context),
		SHIM(test_two_release_at_once),
		SHIM(test_a_context_is_known),
		SHIM(test_what_is_known_is_requested_again),
		SHIM(test_a_successor_has_a_context_of_its_own),
		SHIM(test_who_requests), /* nobody is sure from here on */
		SHIM(test_an_end_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
