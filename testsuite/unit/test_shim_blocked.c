/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What waits for a held kernel, so that the relaunch comes through. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_rig.h"
#include "device/shim/context/barrier.h"

static _Atomic int freeing;

static void *free_in_thread(void *done)
{
	freeing = 1;
	cuMemFree_v2(0);
	*(_Atomic int *)done = 1;
	return NULL;
}

/* The barrier rule: cuMemFree waits for the held kernel; a kernel beside it is not evictable. */
static void test_hold_rule(void **unused)
{
	_Atomic int done = 0;
	struct gs_slot *slot;
	pthread_t thread;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	pthread_create(&thread, NULL, free_in_thread, &done);
	EVENTUALLY(freeing); /* a busy machine begins it late */
	usleep(50000);
	assert_int_equal(done, 0);
	expect_calls("");
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("write-1 launch-original write-5");
	assert_int_equal(shim_kernel_find(kernel)->why, PTX_REASON_BARRIER_RULE);
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	expect_calls("free");
}

#define FRAMED ((CUfunction)0xf100)
#define OTHER ((CUstream)0x7100)

static _Atomic int launching;

static void *launch_framed(void *done)
{
	launching = 1;
	*(_Atomic int *)done = launch_in(FRAMED, 1, OTHER) == CUDA_SUCCESS;
	return NULL;
}

/* What this thread has launched last is over, and seen to be. */
static void over(void)
{
	finish_all();
	EVENTUALLY(all_prepared());
	forget_calls();
}

/* A variant has gone out, and its wait; whether its control block had to be written depends on what
 * was there. */
static void expect_held(void)
{
	char text[4096];

	fake_driver_calls(text, sizeof(text));
	assert_non_null(strstr(text, "launch-variant wait"));
	assert_null(strstr(text, "launch-original"));
}

/*
 * A launch that makes the context's local memory grow blocks in the driver with
 * the lock until nothing runs: while a kernel is held, its relaunch waits for that lock.
 */
static void test_growing_local_memory_waits(void **unused)
{
	_Atomic int done = 0;
	struct gs_slot *slot;
	pthread_t thread;
	char text[4096];

	(void)unused;
	fake_driver_frame(FRAMED, 4096);
	launching = 0;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	pthread_create(&thread, NULL, launch_framed, &done);
	EVENTUALLY(launching);
	usleep(30000);
	gs_page_store(slot->state, GS_K_READY); /* it has left; the time slice is ours */
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_call("relaunch-variant", text, sizeof(text));
	usleep(20000);
	assert_int_equal(done, 0);
	assert_null(strstr(text, "launch-original"));
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	expect_calls("write-1 launch-original write-5");
	/* It has grown: from now on nothing is waited for. */
	over();
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_held();
	assert_int_equal(launch_in(FRAMED, 1, OTHER), CUDA_SUCCESS);
	expect_calls("write-1 launch-original write-5");
	over();
	/* Until the limit of the stack is set: the driver may have taken it back. */
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0), CUDA_SUCCESS);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	done = 0;
	pthread_create(&thread, NULL, launch_framed, &done);
	usleep(30000);
	assert_int_equal(done, 0);
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
}

static void *launch_kernel_again(void *done)
{
	*(_Atomic int *)done = launch_in(kernel, LONG_GRID, OTHER) == CUDA_SUCCESS;
	return NULL;
}

/* The variant's frame counts where the variant goes out: it waits for what is held and is held
 * itself. */
static void test_a_variant_that_grows_is_held(void **unused)
{
	struct shim_variant *v = shim_variant_in(shim_kernel_find(kernel)->code,
						 shim_context_current(shim_session()));
	uint32_t was = v->local_bytes;
	_Atomic int done = 0;
	struct gs_slot *slot;
	pthread_t thread;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	v->local_bytes = 3 * 4096; /* as if it had been loaded with so much */
	pthread_create(&thread, NULL, launch_kernel_again, &done);
	usleep(30000);
	assert_int_equal(done, 0);
	expect_calls("");
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	expect_held();
	/* Beside the one that is out now another one may be held. */
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_held();
	over();
	v->local_bytes = was;
}

static void *copy_in_thread(void *done)
{
	uint32_t from = 7, to = 0;
	CUresult (*copy)(void *, CUdeviceptr, size_t);
	void *p = shim_wrapper_of(shim_real(SHIM_FN_cuMemcpyDtoH_v2));

	memcpy(&copy, &p, sizeof(copy));
	copy(&to, (CUdeviceptr)(uintptr_t)&from, sizeof(to));
	*(_Atomic int *)done = to == 7;
	return NULL;
}

/*
 * The CUDA runtime's synchronous copy, by the address that cuGetProcAddress
 * gave: while the legacy default stream holds a kernel it would block in the
 * driver with the lock that the relaunch needs.  The relaunch comes through.
 */
static void test_copy_by_address_waits(void **unused)
{
	_Atomic int done = 0;
	struct gs_slot *slot;
	pthread_t thread;
	char text[4096];

	(void)unused;
	assert_int_equal(launch_in(kernel, LONG_GRID, NULL), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	pthread_create(&thread, NULL, copy_in_thread, &done);
	usleep(30000);
	gs_page_store(slot->state, GS_K_READY); /* it has left; the time slice is ours */
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_call("relaunch-variant", text, sizeof(text));
	usleep(20000);
	assert_int_equal(done, 0);
	assert_null(strstr(text, "dtoh"));
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	expect_calls("dtoh");
}

#define MANY 2000
static _Atomic int launched_behind;

static _Atomic int relaunched;

static void count_launches(const char *call, CUstream stream)
{
	relaunched |= strcmp(call, "relaunch-variant") == 0;
	launched_behind += !stream && strcmp(call, "launch-original") == 0;
}

static void *launch_many(void *done)
{
	for (int i = 0; i < MANY; i++)
		launch_in(FAKE_MACHINE_CODE, 1, NULL);
	*(_Atomic int *)done = 1;
	return NULL;
}

/*
 * Behind a held kernel the legacy default stream takes 1,019 operations; whoever
 * enqueues the next one would block in the driver with the lock that the
 * relaunch needs.
 */
static void test_launches_behind_a_hold_are_bounded(void **unused)
{
	_Atomic int done = 0;
	struct gs_slot *slot;
	pthread_t thread;

	(void)unused;
	launched_behind = relaunched = 0;
	assert_int_equal(launch_in(kernel, LONG_GRID, NULL), CUDA_SUCCESS);
	slot = active();
	fake_driver_inside(count_launches);
	pthread_create(&thread, NULL, launch_many, &done);
	EVENTUALLY(launched_behind);
	usleep(200000);
	assert_int_equal(done, 0);
	assert_in_range(launched_behind, 1, 1019 / 5);
	gs_page_store(slot->state, GS_K_READY);
	EVENTUALLY(relaunched); /* no kernel ends before it is launched */
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	fake_driver_inside(NULL);
	assert_int_equal(launched_behind, MANY);
}

static _Atomic int operations;

static CUresult count_memset(CUdeviceptr p, unsigned char c, size_t n, CUstream stream)
{
	(void)p, (void)c, (void)n, (void)stream;
	operations++;
	return CUDA_SUCCESS;
}

static CUresult count_wait_event(CUstream stream, CUevent event, unsigned int flags)
{
	(void)event, (void)flags;
	operations += !stream; /* not what a relaunch awaits */
	return CUDA_SUCCESS;
}

static CUresult count_free(CUdeviceptr p, CUstream stream)
{
	(void)p, (void)stream;
	operations++;
	return CUDA_SUCCESS;
}

/* One by its name, one by the address that cuGetProcAddress gives, one that has a function of ours.
 */
static void *enqueue_many(void *done)
{
	void *p = shim_wrapper_of(shim_real(SHIM_FN_cuStreamWaitEvent));
	CUresult (*wait_event)(CUstream, CUevent, unsigned int);

	memcpy(&wait_event, &p, sizeof(wait_event));
	for (int i = 0; i < MANY; i++) {
		if (i % 8 == 0)
			launch_in(FAKE_MACHINE_CODE, 1, NULL);
		cuMemsetD8Async(0, 0, 1, NULL);
		wait_event(NULL, NULL, 0);
		cuMemFreeAsync(0, NULL);
	}
	*(_Atomic int *)done = 1;
	return NULL;
}

/* Not launches alone: whatever is enqueued takes some of the room, and a graph as much as it has
 * nodes. */
static void test_operations_behind_a_hold_are_bounded(void **unused)
{
	void *const was[] = { shim_slot[SHIM_FN_cuMemsetD8Async],
			      shim_slot[SHIM_FN_cuStreamWaitEvent],
			      shim_slot[SHIM_FN_cuMemFreeAsync] };
	_Atomic int done = 0;
	struct gs_slot *slot;
	pthread_t thread;

	(void)unused;
	shim_slot[SHIM_FN_cuMemsetD8Async] = (void *)(uintptr_t)count_memset;
	shim_slot[SHIM_FN_cuStreamWaitEvent] = (void *)(uintptr_t)count_wait_event;
	shim_slot[SHIM_FN_cuMemFreeAsync] = (void *)(uintptr_t)count_free;
	launched_behind = relaunched = 0;
	operations = 0;
	assert_int_equal(launch_in(kernel, LONG_GRID, NULL), CUDA_SUCCESS);
	slot = active();
	fake_driver_inside(count_launches);
	pthread_create(&thread, NULL, enqueue_many, &done);
	EVENTUALLY(launched_behind || operations);
	usleep(200000);
	assert_int_equal(done, 0);
	assert_in_range(5 * launched_behind + operations, 1, 1019);
	gs_page_store(slot->state, GS_K_READY);
	EVENTUALLY(relaunched); /* no kernel ends before it is launched */
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	fake_driver_inside(NULL);
	assert_int_equal(operations, 3 * MANY);
	shim_slot[SHIM_FN_cuMemsetD8Async] = was[0];
	shim_slot[SHIM_FN_cuStreamWaitEvent] = was[1];
	shim_slot[SHIM_FN_cuMemFreeAsync] = was[2];
}

static void *launch_long_graphs(void *unused)
{
	for (int i = 0; i < 3; i++)
		cuGraphLaunch(FAKE_GRAPH, NULL);
	return unused;
}

static _Atomic int graphs_behind;

static void count_graphs(const char *call, CUstream stream)
{
	graphs_behind += !stream && strcmp(call, "launch-graph") == 0;
}

static void test_a_graph_counts_its_nodes(void **unused)
{
	struct gs_slot *slot;
	pthread_t thread;

	(void)unused;
	graphs_behind = 0;
	shim_kernel_graph(FAKE_GRAPH, 0, 600, 1);
	assert_int_equal(launch_in(kernel, LONG_GRID, NULL), CUDA_SUCCESS);
	slot = active();
	fake_driver_inside(count_graphs);
	pthread_create(&thread, NULL, launch_long_graphs, NULL);
	EVENTUALLY(graphs_behind);
	usleep(100000);
	assert_int_equal(graphs_behind, 1);
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	fake_driver_inside(NULL);
	assert_int_equal(graphs_behind, 3);
	shim_kernel_graph(FAKE_GRAPH, 0, 1, 1);
}

/* A stream in which something is held at any time, as long as it may be. */
static void *hold_again(void *stop)
{
	int held = 0;

	while (!*(_Atomic int *)stop) {
		int next = shim_blocked_begin(STREAM, 1) > 0;

		usleep(200);
		for (; held; held--)
			shim_blocked_end(STREAM, 1);
		held = next;
	}
	for (; held; held--)
		shim_blocked_end(STREAM, 1);
	return NULL;
}

static void *go_behind(void *through)
{
	shim_blocked_behind(1019);
	*(_Atomic int *)through = 1;
	return NULL;
}

/* Whoever is past the count waits for what is held, not for what others hold afterwards. */
static void test_new_holds_keep_nobody_waiting(void **unused)
{
	_Atomic int stop = 0, through = 0;
	pthread_t holder, waiter;
	uint64_t until;

	(void)unused;
	pthread_create(&holder, NULL, hold_again, &stop);
	EVENTUALLY(shim_is_legacy_held());
	pthread_create(&waiter, NULL, go_behind, &through);
	for (until = gs_clock_ns() + 20 * GS_NS_PER_S; !through && gs_clock_ns() < until;)
		usleep(1000);
	until = (uint64_t)through;
	stop = 1;
	pthread_join(holder, NULL);
	pthread_join(waiter, NULL);
	assert_int_equal(until, 1);
}

/* The table: what takes a stream, or the default stream of its thread, has two forms; they have one
 * class. */
static const struct {
	const char *name, *class;
} entry[] = {
#define ENTRY(name, kind, hold) { #name, #hold },
#include "device/shim/base/entries.def"
#undef ENTRY
};

static int begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* It takes a stream and enqueues nothing. */
static int only_requests(const char *name)
{
	static const char *const some[] = {
		"cuStreamBeginCapture",
		"cuStreamCopyAttributes",
		"cuStreamEndCapture",
		"cuStreamGet",
		"cuStreamIsCapturing",
		"cuStreamQuery",
		"cuStreamSetAttribute",
		"cuStreamSynchronize",
		"cuStreamUpdateCaptureDependencies",
	};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		if (begins(name, some[i]))
			return 1;
	return 0;
}

static void test_what_enqueues_is_counted(void **unused)
{
	unsigned pairs = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++) {
		size_t len = strlen(entry[i].name), base = len - 5;

		if (begins(entry[i].name, "cuMemset") || begins(entry[i].name, "cuLaunch"))
			assert_string_equal(entry[i].class, "QUEUES");
		if (len < 5 || (strcmp(entry[i].name + base, "_ptsz") != 0 &&
				strcmp(entry[i].name + base, "_ptds") != 0))
			continue;
		if (strcmp(entry[i].class, "SAFE") == 0 && !only_requests(entry[i].name))
			fail_msg("%s is not counted", entry[i].name);
		for (size_t k = 0; k < sizeof(entry) / sizeof(entry[0]); k++) {
			if (strlen(entry[k].name) != base || !begins(entry[i].name, entry[k].name))
				continue;
			pairs++;
			if (strcmp(entry[k].name, "cuMemcpy") != 0) /* of unified addressing */
				assert_string_equal(entry[i].class, entry[k].class);
		}
	}
	assert_in_range(pairs, 80, 120);
}

int shim_holds(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_hold_rule),
		SHIM(test_growing_local_memory_waits),
		SHIM(test_a_variant_that_grows_is_held),
		SHIM(test_copy_by_address_waits),
		SHIM(test_launches_behind_a_hold_are_bounded),
		SHIM(test_operations_behind_a_hold_are_bounded),
		SHIM(test_a_graph_counts_its_nodes),
		SHIM(test_new_holds_keep_nobody_waiting),
		SHIM(test_what_enqueues_is_counted),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
