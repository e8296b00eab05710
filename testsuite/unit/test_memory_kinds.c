/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is particular to one kind of device memory: limits, frames, mappings, pools, captures,
 * contexts. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "device/shim/base/wraps.h"
#include "device/shim/memory/local.h"
#include "entries_rig.h"
#include "fake_driver.h"

/* A pool is asked for what it has no more often than this. */
#define POOL_REQUESTED_US 15000

/* Stacks of all resident threads: 4 SMs of 2048. */
static void the_stack_limit_costs_per_thread(void **state)
{
	(void)state;
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024 + 1024), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * 2048 * 1024);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024 + 512), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * 2048 * 512);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1 << 20), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(rig.s->used, 0);
}

/* Released as soon as it is mapped, as PyTorch does: it is there until it is unmapped. */
static void a_mapping_keeps_the_memory(void **state)
{
	CUmemAllocationProp host = { .location = { CU_MEM_LOCATION_TYPE_HOST, 0 } };
	CUmemGenericAllocationHandle h, again;

	(void)state;
	assert_int_equal(entry_created(8, (uint64_t *)&h), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(0x10000000, 4 * MIB, 0, h, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(0x20000000, 8 * MIB, 0, h, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemRelease(h), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(cuMemRetainAllocationHandle(&again, (void *)0x20000100), CUDA_SUCCESS);
	assert_int_equal(cuMemUnmap(0x10000000, 4 * MIB), CUDA_SUCCESS);
	assert_int_equal(cuMemUnmap(0x20000000, 8 * MIB), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(cuMemRelease(again), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
	assert_int_equal(cuMemRelease(again), CUDA_SUCCESS); /* nobody's: no underflow */
	assert_int_equal(rig.s->used, 0);
	assert_int_equal(cuMemCreate(&h, 128 * MIB, &host, 0), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
}

/* Of the first, and of what another thread does while the driver takes the first back. */
static uint64_t first, second;

static void create_the_same(void)
{
	rig.again = first;
	assert_int_equal(entry_created(4, &second), CUDA_SUCCESS);
	assert_int_equal(second, first);
}

/* The driver may give a handle to another thread before we hear that it was released. */
static void a_released_handle_may_come_again(void **state)
{
	(void)state;
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	rig.inside = create_the_same;
	assert_int_equal(cuMemRelease(first), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * MIB);
	rig.refusal = CUDA_ERROR_INVALID_VALUE;
	assert_int_equal(cuMemRelease(second), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 4 * MIB);
	rig.refusal = CUDA_SUCCESS;
	assert_int_equal(cuMemRelease(second), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
}

#define AT ((CUdeviceptr)0x10000000)

static void map_the_other(void)
{
	assert_int_equal(cuMemMap(AT, 4 * MIB, 0, second, 0), CUDA_SUCCESS);
}

/* The same of an address. */
static void an_unmapped_address_may_come_again(void **state)
{
	(void)state;
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	assert_int_equal(entry_created(4, &second), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(AT, 8 * MIB, 0, first, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemRelease(first), CUDA_SUCCESS);
	rig.inside = map_the_other;
	assert_int_equal(cuMemUnmap(AT, 8 * MIB), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * MIB);
	assert_int_equal(cuMemRelease(second), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * MIB);
	rig.refusal = CUDA_ERROR_INVALID_VALUE;
	assert_int_equal(cuMemUnmap(AT, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 4 * MIB);
	rig.refusal = CUDA_SUCCESS;
	assert_int_equal(cuMemUnmap(AT, 4 * MIB), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
}

static void map_the_first(void)
{
	assert_int_equal(cuMemMap(AT, 8 * MIB, 0, first, 0), CUDA_SUCCESS);
}

/* Another thread maps it just before the driver lets the handle go. */
static void mapped_while_it_is_released(void **state)
{
	(void)state;
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	rig.inside = map_the_first;
	assert_int_equal(cuMemRelease(first), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(cuMemUnmap(AT, 8 * MIB), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
}

static void release_the_first(void)
{
	assert_int_equal(cuMemRelease(first), CUDA_SUCCESS);
}

static void release_and_create_the_same(void)
{
	release_the_first();
	create_the_same();
}

static void release_before_the_driver_looks(void)
{
	release_the_first();
	rig.refusal = CUDA_ERROR_INVALID_VALUE;
}

/* Another thread releases it before we hear that it has been mapped. */
static void released_while_it_is_mapped(void **state)
{
	(void)state;
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	rig.inside = release_the_first;
	assert_int_equal(cuMemMap(AT, 8 * MIB, 0, first, 0), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(cuMemUnmap(AT, 8 * MIB), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	rig.inside = release_and_create_the_same;
	assert_int_equal(cuMemMap(AT, 8 * MIB, 0, first, 0), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 12 * MIB);
	assert_int_equal(cuMemRelease(second), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(cuMemUnmap(AT, 8 * MIB), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	rig.inside = release_before_the_driver_looks;
	assert_int_equal(cuMemMap(AT, 8 * MIB, 0, first, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 0);
}

static void unmap_the_first(void)
{
	assert_int_equal(cuMemUnmap(AT, 8 * MIB), CUDA_SUCCESS);
}

static void map_without_a_handle(void)
{
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	map_the_first();
	release_the_first();
	assert_int_equal(rig.s->used, 8 * MIB);
}

/* The same of what is unmapped as it gets a handle again. */
static void unmapped_while_it_is_retained(void **state)
{
	CUmemGenericAllocationHandle again;

	(void)state;
	map_without_a_handle();
	rig.inside = unmap_the_first;
	assert_int_equal(cuMemRetainAllocationHandle(&again, (void *)AT), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(cuMemRelease(again), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
	map_without_a_handle();
	rig.inside = unmap_the_first;
	rig.answer = CUDA_ERROR_INVALID_VALUE;
	assert_int_equal(cuMemRetainAllocationHandle(&again, (void *)AT), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 0);
}

static void unmap_before_the_driver_looks(void)
{
	unmap_the_first();
	rig.refusal = CUDA_ERROR_INVALID_VALUE;
}

/* What the driver refuses to one thread, it may do for another. */
static void unmapped_beside_a_refused_unmap(void **state)
{
	(void)state;
	map_without_a_handle();
	rig.inside = unmap_before_the_driver_looks;
	assert_int_equal(cuMemUnmap(AT, 16 * MIB), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 0);
	rig.refusal = CUDA_SUCCESS;
	assert_int_equal(entry_created(8, &first), CUDA_SUCCESS);
	rig.inside = release_before_the_driver_looks;
	assert_int_equal(cuMemRelease(first), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 0);
}

/* What a pool keeps stays charged; at the limit the pool must give it back. */
static void pools_keep_and_give_back(void **state)
{
	uint64_t a, b;

	(void)state;
	assert_int_equal(entry_async(40, &a), CUDA_SUCCESS);
	rig.pool_has = 40 * MIB;
	assert_int_equal(entry_free_async(a), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 40 * MIB);
	assert_int_equal(entry_async(30, &a), CUDA_SUCCESS); /* out of what it kept */
	assert_int_equal(rig.s->used, 40 * MIB);
	assert_int_equal(entry_free_async(a), CUDA_SUCCESS);
	assert_int_equal(entry_linear(60, &b), CUDA_SUCCESS); /* trimmed */
	assert_int_equal(rig.pool_has, 0);
	assert_int_equal(rig.s->used, 60 * MIB);
	entry_free_pointer(b);
	assert_int_equal(entry_async(40, &a), CUDA_SUCCESS);
	rig.pool_has = 40 * MIB;
	assert_int_equal(entry_linear(60, &b),
			 CUDA_ERROR_OUT_OF_MEMORY); /* in use: nothing to trim */
	assert_int_equal(entry_free_async(a), CUDA_SUCCESS);
	assert_int_equal(cuMemPoolTrimTo(RIG_DEVICE_POOL, 10 * MIB), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 10 * MIB);
	assert_int_equal(cuMemPoolTrimTo(RIG_DEVICE_POOL, 0), CUDA_SUCCESS);
}

static void use_the_same_pool(void)
{
	rig.pool_has = 4 * MIB; /* a new one of another thread, with this handle */
	assert_int_equal(entry_from_pool(4, &second), CUDA_SUCCESS);
}

static void free_into_the_pool(void)
{
	assert_int_equal(entry_free_async(first), CUDA_SUCCESS);
}

static void a_destroyed_pool_may_come_again(void **state)
{
	(void)state;
	assert_int_equal(entry_from_pool(8, &first), CUDA_SUCCESS);
	rig.pool_has = 8 * MIB;
	rig.refusal = CUDA_ERROR_INVALID_VALUE;
	rig.inside = free_into_the_pool; /* which stays, and keeps it */
	assert_int_equal(cuMemPoolDestroy(RIG_POOL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 8 * MIB);
	rig.refusal = CUDA_SUCCESS;
	rig.inside = use_the_same_pool;
	assert_int_equal(cuMemPoolDestroy(RIG_POOL), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * MIB);
	assert_int_equal(entry_free_async(second), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * MIB); /* kept by the new one */
	assert_int_equal(cuMemPoolDestroy(RIG_POOL), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
}

static void allocate_from_the_pool(void)
{
	rig.pool_has = 12 * MIB;
	assert_int_equal(entry_from_pool(4, &second), CUDA_SUCCESS);
}

static void free_and_allocate(void)
{
	free_into_the_pool();
	assert_int_equal(entry_from_pool(4, &second), CUDA_SUCCESS); /* out of what it keeps */
}

/* The pool of a device is never destroyed; another thread allocates from it while the driver says
 * so. */
static void a_pool_that_stays_is_counted_once(void **state)
{
	(void)state;
	rig.refusal = CUDA_ERROR_INVALID_VALUE;
	rig.pool_has = 8 * MIB;
	assert_int_equal(entry_from_pool(8, &first), CUDA_SUCCESS);
	rig.inside = free_and_allocate;
	assert_int_equal(cuMemPoolDestroy(RIG_POOL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(entry_free_async(second), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 8 * MIB);
	assert_int_equal(cuMemPoolTrimTo(RIG_POOL, 0), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
	assert_int_equal(entry_from_pool(8, &first), CUDA_SUCCESS);
	rig.inside = allocate_from_the_pool;
	assert_int_equal(cuMemPoolDestroy(RIG_POOL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(rig.s->used, 12 * MIB);
	assert_int_equal(entry_free_async(first), CUDA_SUCCESS); /* it keeps that, too */
	assert_int_equal(rig.s->used, 12 * MIB);
	assert_int_equal(entry_free_async(second), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 12 * MIB);
	assert_int_equal(cuMemPoolTrimTo(RIG_POOL, 0), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
}

static pthread_t destroyer;
static _Atomic int destroyed;

static void is_destroyed(void)
{
	destroyed = 1;
}

static void *destroy_the_pool(void *unused)
{
	rig.inside = is_destroyed;
	return cuMemPoolDestroy(RIG_POOL) == CUDA_SUCCESS ? &destroyer : unused;
}

static void destroy_while_it_is_requested(void)
{
	assert_int_equal(pthread_create(&destroyer, NULL, destroy_the_pool, NULL), 0);
	usleep(20000);
	assert_int_equal(destroyed, 0);
}

/* Programs may free what is of a pool while another thread destroys it: the driver is not asked
 * about it any more. */
static void a_pool_is_not_destroyed_while_it_is_requested(void **state)
{
	void *fine = NULL;

	(void)state;
	assert_int_equal(entry_from_pool(8, &first), CUDA_SUCCESS);
	usleep(POOL_REQUESTED_US);
	rig.requested = destroy_while_it_is_requested;
	assert_int_equal(entry_free_async(first), CUDA_SUCCESS);
	assert_int_equal(pthread_join(destroyer, &fine), 0);
	assert_non_null(fine);
	assert_int_equal(destroyed, 1);
	assert_int_equal(rig.s->used, 0);
}

/* A program that allocates and frees all the time: nothing is asked beside that, and it stays
 * charged what the pool may have. */
static void a_steady_loop_requests_nothing(void **state)
{
	enum { LOOPS = 20000 };
	uint64_t kept, a, from;
	unsigned int most;

	(void)state;
	assert_int_equal(entry_async(8, &kept), CUDA_SUCCESS);
	rig.pool_has = 12 * MIB;
	rig.requests = 0;
	from = gs_clock_ns();
	for (int i = 0; i < LOOPS; i++) {
		assert_int_equal(entry_async(4, &a), CUDA_SUCCESS);
		assert_int_equal(entry_free_async(a), CUDA_SUCCESS);
	}
	/* What has become current behind our back is looked at now and then, what a pool has each
	 * 10 ms. */
	most = LOOPS / 128 + (unsigned int)((gs_clock_ns() - from) / 10000000) + 2;
	if (rig.requests > most)
		fail_msg("%u questions for %d allocations", rig.requests, LOOPS);
	assert_int_equal(rig.s->used, 12 * MIB);
	assert_int_equal(entry_from_pool(57, &a), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(entry_async(56, &a), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, RESERVATION);
	assert_int_equal(entry_free_async(a), CUDA_SUCCESS);
	assert_int_equal(entry_free_async(kept), CUDA_SUCCESS);
	assert_int_equal(cuMemPoolTrimTo(RIG_DEVICE_POOL, 0), CUDA_SUCCESS);
}

/* The pool of a device that the program puts in another's place counts from then on. */
static void another_pool_becomes_the_devices(void **state)
{
	uint64_t a, b;

	(void)state;
	assert_int_equal(entry_async(8, &a), CUDA_SUCCESS);
	assert_int_equal(cuDeviceSetMemPool(0, RIG_POOL), CUDA_SUCCESS);
	assert_int_equal(entry_async(4, &b), CUDA_SUCCESS);
	assert_int_equal(entry_free_async(a), CUDA_SUCCESS);
	assert_int_equal(cuMemPoolTrimTo(RIG_DEVICE_POOL, 0), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * MIB);
	assert_int_equal(entry_free_async(b), CUDA_SUCCESS);
	assert_int_equal(cuMemPoolTrimTo(RIG_POOL, 0), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
}

static _Atomic int requesting, answered;

static void answer_late(void)
{
	requesting = 1;
	while (!answered)
		usleep(1000);
}

static void *free_the_first(void *unused)
{
	rig.requested = answer_late;
	return entry_free_async(first) == CUDA_SUCCESS ? &requesting : unused;
}

/* As long as the process lives it is waited for; not for ever when it ends. */
static void the_end_does_not_wait_for_who_requests(void **state)
{
	pthread_t asker;
	int waited, ended;
	void *fine = NULL;

	(void)state;
	destroyed = 0;
	rig.s->stopping = 0;
	assert_int_equal(entry_from_pool(8, &first), CUDA_SUCCESS);
	usleep(POOL_REQUESTED_US);
	assert_int_equal(pthread_create(&asker, NULL, free_the_first, NULL), 0);
	while (!requesting)
		usleep(1000);
	assert_int_equal(pthread_create(&destroyer, NULL, destroy_the_pool, NULL), 0);
	usleep(1200000);
	waited = !destroyed;
	rig.s->stopping = 1; /* as rig_setup left it */
	for (int ms = 0; !destroyed && ms < 5000; ms++)
		usleep(1000);
	ended = destroyed;
	answered = 1;
	assert_int_equal(pthread_join(asker, &fine), 0);
	assert_non_null(fine);
	assert_int_equal(pthread_join(destroyer, &fine), 0);
	assert_non_null(fine);
	assert_true(waited);
	assert_true(ended);
	assert_int_equal(rig.s->used, 0);
}

/* In a capture nothing is allocated: the graph is counted when it is instantiated. */
static void captured_allocations_are_the_graphs(void **state)
{
	uint64_t a;

	(void)state;
	shim_say_uncommon(SHIM_UNCOMMON_CAPTURED); /* as the call that begins one does */
	rig.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	assert_int_equal(entry_async(1000, &a), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 0);
	rig.capture = CU_STREAM_CAPTURE_STATUS_NONE;
}

/* All that a context had goes with it, once; the others' stays. */
static void a_context_takes_its_own_along(void **state)
{
	uint64_t a, b, vmm;

	(void)state;
	assert_int_equal(entry_linear(8, &a), CUDA_SUCCESS);
	assert_int_equal(entry_array2d(8, &b), CUDA_SUCCESS);
	assert_int_equal(entry_created(4, &vmm), CUDA_SUCCESS);
	assert_int_equal(cuCtxDestroy_v2((CUcontext)0x4444), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 20 * MIB);
	assert_int_equal(cuCtxDestroy_v2(FAKE_CONTEXT), CUDA_SUCCESS);
	assert_int_equal(rig.s->used, 4 * MIB);
	entry_free_pointer(a);
	assert_int_equal(rig.s->used, 4 * MIB);
	entry_release_created(vmm);
}

/* What a kernel's frames need beyond the stack's limit, for 4 SMs of 2048 threads; once in a
 * context, and until it goes. */
static void frames_are_charged_at_the_first_launch(void **state)
{
	CUcontext other = (CUcontext)0x4444;

	(void)state;
	rig.frame = 1024;
	assert_int_equal(shim_local_charge(rig.s, NULL), 0);
	assert_int_equal(rig.s->used, 0); /* within the limit */
	for (int i = 0; i < 100; i++) {
		rig.frame = 1024 + 2048;
		assert_int_equal(shim_local_charge(rig.s, NULL), 0);
		assert_int_equal(rig.s->used, 4 * 2048 * 2048);
		rig.frame = 1024 + 1024; /* fits into that of the other kernel */
		assert_int_equal(shim_local_charge(rig.s, NULL), 0);
		assert_int_equal(rig.s->used, 4 * 2048 * 2048);
		rig.frame = 1024 + 8192 + 16;
		assert_int_equal(shim_local_charge(rig.s, NULL), -1);
		assert_int_equal(rig.s->used, 4 * 2048 * 2048);
		rig.frame = 1024 + 8192; /* to the byte */
		assert_int_equal(shim_local_charge(rig.s, NULL), 0);
		assert_int_equal(rig.s->used, RESERVATION);
		assert_int_equal(cuCtxDestroy_v2(other), CUDA_SUCCESS);
		assert_int_equal(rig.s->used, RESERVATION);
		assert_int_equal(cuCtxDestroy_v2(FAKE_CONTEXT), CUDA_SUCCESS);
		assert_int_equal(rig.s->used, 0);
	}
}

int memory_kinds(void)
{
	const struct CMUnitTest tests[] = {
		ENTRY(the_stack_limit_costs_per_thread),
		ENTRY(a_mapping_keeps_the_memory),
		ENTRY(a_released_handle_may_come_again),
		ENTRY(an_unmapped_address_may_come_again),
		ENTRY(mapped_while_it_is_released),
		ENTRY(released_while_it_is_mapped),
		ENTRY(unmapped_while_it_is_retained),
		ENTRY(unmapped_beside_a_refused_unmap),
		ENTRY(pools_keep_and_give_back),
		ENTRY(a_destroyed_pool_may_come_again),
		ENTRY(a_pool_that_stays_is_counted_once),
		ENTRY(a_pool_is_not_destroyed_while_it_is_requested),
		ENTRY(a_steady_loop_requests_nothing),
		ENTRY(another_pool_becomes_the_devices),
		ENTRY(the_end_does_not_wait_for_who_requests),
		ENTRY(captured_allocations_are_the_graphs),
		ENTRY(a_context_takes_its_own_along),
		ENTRY(frames_are_charged_at_the_first_launch),
	};

	return cmocka_run_group_tests(tests, rig_setup, NULL);
}
