/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The count of device memory: many threads at the limit, and the price of a call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "device/shim/base/wraps.h"
#include "entries_rig.h"

#define THREADS 8
#define ROUNDS 20000
#define KIB UINT64_C(1024)
#define CHILDREN 40

static void *take_and_return(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	uint64_t held[16] = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		int k = rand_r(&seed) % 16;

		if (held[k]) {
			shim_uncharge(rig.s, held[k]);
			held[k] = 0;
		} else {
			uint64_t bytes = (uint64_t)(rand_r(&seed) % 3000) * KIB + 1;

			if (shim_charge(rig.s, bytes))
				held[k] = bytes;
		}
		if (rig.s->used > RESERVATION + THREADS * 3000 * KIB)
			abort(); /* only what a thread is about to give back may be above */
	}
	for (int k = 0; k < 16; k++)
		shim_uncharge(rig.s, held[k]);
	return NULL;
}

static void threads_never_exceed_the_limit(void **state)
{
	pthread_t t[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, take_and_return, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(rig.s->used, 0);
}

static _Atomic int over;

static void *allocate_and_free(void *unused)
{
	uint64_t h;

	while (!over) {
		cuMemAlloc_v2((CUdeviceptr *)&h, 4096);
		entry_free_pointer(h);
	}
	return unused;
}

/* Its parent's threads were in the middle of an allocation, and are not there to end it. */
static void a_forked_child_waits_for_no_lock(void **state)
{
	pthread_t t[2];
	uint64_t bytes;
	void *tag;

	(void)state;
	over = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, allocate_and_free, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			alarm(10);
			_exit(shim_unhold(SHIM_CHARGE_CONTEXT, 1, &bytes,
					  &tag)); /* nothing is held */
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status)
			fail_msg("child %d: status %x", i, status);
	}
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(rig.s->used, 0);
}

/* An accounted pair of calls with a lease, as with a daemon. */
static void the_price_of_a_call(void **state)
{
	const int n = 200000;
	uint64_t t0, h;
	double ns;

	(void)state;
	rig.s->connected = 1;
	atomic_store(&rig.s->page->lease, RESERVATION);
	t0 = gs_clock_ns();
	for (int i = 0; i < n; i++) {
		cuMemAlloc_v2((CUdeviceptr *)&h, 4096);
		entry_free_pointer(h);
	}
	ns = (double)(gs_clock_ns() - t0) / (2 * n);
	print_message("%.0f ns per accounted call\n", ns);
	assert_int_equal(atomic_load(&rig.s->page->lease), RESERVATION);
	atomic_store(&rig.s->page->lease, 0);
	rig.s->connected = 0;
	assert_true(ns < 20000); /* the bar of 1 us is measured where nothing else runs */
}

int memory_count(void)
{
	const struct CMUnitTest tests[] = {
		ENTRY(threads_never_exceed_the_limit),
		ENTRY(a_forked_child_waits_for_no_lock),
		ENTRY(the_price_of_a_call),
	};

	return cmocka_run_group_tests(tests, rig_setup, NULL);
}
