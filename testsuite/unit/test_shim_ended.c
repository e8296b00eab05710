/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of contexts that have been destroyed serve later ones. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/shim/context/context.h"
#include "fake_driver.h"
#include "shim_rig.h"

#define RECORDS_MOST 12

static struct shim_context *current(void)
{
	return shim_context_current(shim_session());
}

/* The driver frees the context's memory with it. */
static void end(struct shim_context *c)
{
	CUcontext ctx = c->ctx;

	free(c->word);
	c->word = NULL;
	shim_context_gone(ctx);
	fake_driver_reuse();
	shim_context_destroyed(ctx);
}

/* Programs that make contexts without end: a few records serve them all. None has the events, the
 * kernels or the cached context of the one before. */
static void test_a_record_serves_many_contexts(void **unused)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(kernel),
						  (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	struct shim_context *known[RECORDS_MOST] = { NULL };
	unsigned int reuses = shim_context_reuses, stale = fake_driver_stale(), n = 0, at;

	(void)unused;
	for (int i = 0; i < 40; i++) {
		struct shim_context *c = current();

		for (at = 0; at < n && known[at] != c; at++)
			;
		if (at == n)
			known[n++] = c;
		assert_in_range(n, 1, RECORDS_MOST - 1);
		assert_int_equal(c->gone, 0);
		assert_int_equal(c->fault, CUDA_SUCCESS);
		assert_true(i == 0 || shim_kernel_find(kernel)->counted_in != c);
		time->due = 0; /* it is timed, by the events of its context */
		assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
		finish_all();
		EVENTUALLY(all_prepared());
		assert_ptr_equal(shim_kernel_find(kernel)->counted_in, c);
		end(c);
		assert_null(shim_kernel_find(kernel)->counted_in);
		assert_null(shim_cached_here()->ctx);
	}
	assert_in_range(shim_context_reuses - reuses, 25, 40);
	assert_int_equal(fake_driver_stale(), stale);
}

/* One at which a thread of ours still looks is nobody else's. */
static void test_a_record_in_use_stays(void **unused)
{
	struct shim_context *c = current(), *is;

	(void)unused;
	end(c);
	atomic_fetch_add(&c->users, 1);
	for (int i = 0; i < 20; i++) {
		is = current();
		assert_ptr_not_equal(is, c);
		end(is);
	}
	atomic_fetch_sub(&c->users, 1);
	current();
}

int shim_ended(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_a_record_serves_many_contexts),
		SHIM(test_a_record_in_use_stays),
	};

	return cmocka_run_group_tests_name("ended", tests, shim_rig_setup, NULL);
}
