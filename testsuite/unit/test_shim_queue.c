/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of what cannot be evicted goes to a GPU that is busy (queue.h). */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/launch/queue.h"
#include "device/shim/launch/untracked.h"
#include "fake_driver.h"
#include "shim_rig.h"

#define MANY 40
#define TIMED_WITHIN 127 /* launches, when nobody else uses the GPU */
#define UNSEEN(i) ((CUfunction)(uintptr_t)(0x20000 + 0x10 * (i)))
#define GRAPH_MS 87

static _Atomic unsigned out;

static void count_out(const char *call, CUstream stream)
{
	(void)stream;
	out += strcmp(call, "launch-original") == 0 || strcmp(call, "launch-graph") == 0;
}

static void *launch_unseen(void *rc)
{
	for (int i = 0; i < MANY; i++)
		*(CUresult *)rc |= launch(UNSEEN(i), 1);
	return NULL;
}

static void *launch_graphs(void *rc)
{
	for (int i = 0; i < MANY; i++)
		*(CUresult *)rc |= cuGraphLaunch(FAKE_GRAPH, STREAM);
	return NULL;
}

#define POLL_MS 200

/* As many as are out after POLL_MS, of MANY that a thread launches on a GPU that is through with
 * none; then all go.  In *ms when the look was. */
static unsigned out_after(void *(*body)(void *), uint64_t *ms)
{
	CUresult rc = CUDA_SUCCESS;
	pthread_t thread;
	unsigned most;
	uint64_t from;

	out = 0;
	fake_driver_inside(count_out);
	fake_driver_busy(1);
	assert_int_equal(pthread_create(&thread, NULL, body, &rc), 0);
	from = gs_clock_ns();
	EVENTUALLY(out);
	usleep(POLL_MS * 1000);
	most = out;
	*ms = (gs_clock_ns() - from) / GS_NS_PER_MS;
	for (uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S; out < MANY && gs_clock_ns() < until;
	     usleep(200))
		finish_all();
	pthread_join(thread, NULL);
	assert_int_equal(rc, CUDA_SUCCESS);
	assert_int_equal(out, MANY);
	fake_driver_busy(0);
	finish_all();
	EVENTUALLY(all_prepared());
	fake_driver_inside(NULL);
	assert_int_equal(shim_launch_queued_ns(), 0);
	assert_int_equal(shim_launch_queued_unknown(), 0);
	return most;
}

/* Where the look came late, on a busy machine, others' patience may have been at an end: again. */
static unsigned out_at_once(void *(*body)(void *))
{
	unsigned most = 0;
	uint64_t ms = 0;

	for (int i = 0; i < 20; i++) {
		most = out_after(body, &ms);
		if (ms < 2 * POLL_MS)
			break;
	}
	return most;
}

/* Nobody knows how long they take, so they count, whether somebody waits or not. */
static void test_few_unseen_kernels_are_out_at_once(void **unused)
{
	(void)unused;
	assert_in_range(out_at_once(launch_unseen), 1, SHIM_QUEUE_UNKNOWN);
	gs_page_store(page->contended, 1);
	assert_in_range(out_at_once(launch_unseen), 1, SHIM_QUEUE_UNKNOWN);
	gs_page_store(page->contended, 0);
}

#define LONE 64
#define OWN(i) ((CUstream)(uintptr_t)(0x90000 + 0x10 * (i)))

/* Other kernels each time: none that was timed. */
static void *launch_in_own_streams(void *rc)
{
	static int from = 2 * MANY;

	for (int i = 0; i < LONE; i++)
		*(CUresult *)rc |= launch_in(UNSEEN(from + i), 1, OWN(i));
	from += LONE;
	return NULL;
}

/* So many are out while none of them ends, after POLL_MS, and as soon as there are that many.  Then
 * they end. */
static unsigned once_out(void *(*body)(void *), unsigned least, uint64_t *ms)
{
	CUresult rc = CUDA_SUCCESS;
	pthread_t thread;
	uint64_t from, until;
	unsigned n;

	out = 0;
	fake_driver_inside(count_out);
	fake_driver_busy(1);
	assert_int_equal(pthread_create(&thread, NULL, body, &rc), 0);
	EVENTUALLY(out >= least);
	from = gs_clock_ns();
	for (until = from + POLL_MS * GS_NS_PER_MS; out < LONE && gs_clock_ns() < until;)
		usleep(200);
	n = out;
	*ms = (gs_clock_ns() - from) / GS_NS_PER_MS;
	for (until = gs_clock_ns() + 20 * GS_NS_PER_S; out < LONE && gs_clock_ns() < until;
	     usleep(200))
		finish_all();
	pthread_join(thread, NULL);
	assert_int_equal(rc, CUDA_SUCCESS);
	fake_driver_busy(0);
	finish_all();
	EVENTUALLY(all_prepared());
	fake_driver_inside(NULL);
	assert_int_equal(shim_launch_queued_ns(), 0);
	assert_int_equal(shim_launch_queued_unknown(), 0);
	return n;
}

/* At least that many, and at most: where the look came late others' patience may have been at an
 * end, so again. */
static void expect_out(void *(*body)(void *), unsigned least, unsigned most)
{
	uint64_t ms = 0;
	unsigned n = 0;

	for (int i = 0; i < 20; i++) {
		n = once_out(body, least, &ms);
		if (n <= most || ms < POLL_MS + 20)
			break;
	}
	assert_in_range(n, least, most);
}

/* Streams of their own would run them all at once; only where nobody else is there may they,
 * `many`; else `most`. */
static void alone_in_streams(void *(*body)(void *), unsigned many, unsigned most)
{
	uint64_t from = gs_clock_ns();

	expect_out(body, many, many + 1);
	/* Nobody's patience was at an end: that is 100 ms for each at least. */
	assert_true(many < LONE || gs_clock_ns() - from < GS_NS_PER_S);
	gs_page_store(page->shared, 1);
	expect_out(body, 1, most);
	gs_page_store(page->shared, 0);
	gs_page_store(page->contended, 1);
	expect_out(body, 1, most);
	gs_page_store(page->contended, 0);
}

static void test_whoever_is_alone_may_use_its_streams(void **unused)
{
	(void)unused;
	alone_in_streams(launch_in_own_streams, 4 * SHIM_QUEUE_UNKNOWN, SHIM_QUEUE_UNKNOWN);
}

#define KNOWN UNSEEN(1000)

static struct shim_time *known_time(void)
{
	return shim_kernel_time(shim_kernel_find(KNOWN), (const unsigned int[]) { 32, 1, 1 },
				LONG_GRID);
}

static void *launch_known_in_own_streams(void *rc)
{
	for (int i = 0; i < LONE; i++)
		*(CUresult *)rc |= launch_in(KNOWN, 1, OWN(i));
	return NULL;
}

static void *launch_known_in_one(void *rc)
{
	for (int i = 0; i < LONE; i++)
		*(CUresult *)rc |= launch_in(KNOWN, 1, OWN(0));
	return NULL;
}

/* Of 20 ms each: one, and those that go when the patience for it, 180 ms, is at an end. */
static void test_known_kernels_too(void **unused)
{
	(void)unused;
	fake_driver_takes(20);
	for (int i = 0; i < TIMED_WITHIN && !known_time()->tpt_ps; i++) {
		assert_int_equal(launch(KNOWN, 1), CUDA_SUCCESS);
		EVENTUALLY(all_prepared());
	}
	assert_in_range(known_time()->tpt_ps, UINT64_C(19000000000) / FAKE_SMS,
			UINT64_C(21000000000) / FAKE_SMS);
	alone_in_streams(launch_known_in_own_streams, 1000 / 20 + 1, 2);
	expect_out(launch_known_in_one, 1, 2);
	fake_driver_takes(0);
}

static struct shim_time *graph_time(void)
{
	return shim_kernel_time(shim_graph_find(FAKE_GRAPH), (const unsigned int[]) { 0, 0, 0 }, 1);
}

/* A graph is timed as a kernel is: once it is known, there is one in front of whoever waits. */
static void test_graphs_are_timed(void **unused)
{
	uint64_t ps = GRAPH_MS * UINT64_C(1000000000);
	CUgraphExec exec;

	(void)unused;
	assert_int_equal(cuGraphInstantiateWithFlags(&exec, NULL, 0), CUDA_SUCCESS);
	assert_in_range(out_at_once(launch_graphs), 1, SHIM_QUEUE_UNKNOWN);
	fake_driver_takes(GRAPH_MS);
	assert_int_equal(cuGraphLaunch(FAKE_GRAPH, STREAM), CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
	for (int i = 0; i < TIMED_WITHIN && !graph_time()->tpt_ps; i++) {
		assert_int_equal(cuGraphLaunch(FAKE_GRAPH, STREAM), CUDA_SUCCESS);
		EVENTUALLY(all_prepared());
	}
	assert_in_range(graph_time()->tpt_ps, ps - ps / 100, ps + ps / 100);
	assert_int_equal(out_at_once(launch_graphs), 1);
	/* Another graph with its handle is another graph. */
	assert_int_equal(cuGraphExecDestroy(FAKE_GRAPH), CUDA_SUCCESS);
	assert_int_equal(cuGraphInstantiateWithFlags(&exec, NULL, 0), CUDA_SUCCESS);
	assert_ptr_equal(exec, FAKE_GRAPH);
	assert_int_equal(graph_time()->tpt_ps, 0);
	fake_driver_takes(1);
	assert_int_equal(cuGraphLaunch(FAKE_GRAPH, STREAM), CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
	assert_in_range(graph_time()->tpt_ps, 1, ps / GRAPH_MS + 1);
	fake_driver_takes(0);
}

#define LONG_KERNEL UNSEEN(9000)

/*
 * While somebody more urgent may come, nothing may wait on the GPU behind a long kernel whose time
 * is known: no write of its end, and no event that takes the time.
 */
static void test_a_long_kernel_has_nothing_behind_it_that_waits(void **unused)
{
	char calls[1024];
	uint32_t doorbell;

	(void)unused;
	fake_driver_takes(30);
	for (int i = 0; i < TIMED_WITHIN; i++) {
		assert_int_equal(launch(LONG_KERNEL, 1000), CUDA_SUCCESS);
		EVENTUALLY(all_prepared());
	}
	forget_calls();
	fake_driver_before_events(1);
	gs_page_store(page->contended, GS_CONTENDED_QUEUE);
	doorbell = gs_page_load(page->doorbell);
	assert_int_equal(launch(LONG_KERNEL, 1000), CUDA_SUCCESS);
	assert_int_not_equal(gs_page_load(page->doorbell), doorbell); /* the agent may be asleep */
	await_call("launch-original", calls, sizeof(calls));
	assert_null(strstr(calls, "write"));
	usleep(20000);
	assert_int_equal(gs_page_load(active()->state), GS_K_RUNNING);
	fake_driver_before_events(0);
	EVENTUALLY(all_prepared());
	/* Under MPS nobody loses a time slice by it. */
	forget_calls();
	shim_session()->one_context = 1;
	assert_int_equal(launch(LONG_KERNEL, 1000), CUDA_SUCCESS);
	await_call("launch-original", calls, sizeof(calls));
	assert_non_null(strstr(calls, "write"));
	EVENTUALLY(all_prepared());
	shim_session()->one_context = 0;
	gs_page_store(page->contended, GS_CONTENDED_NOT);
	forget_calls();
	assert_int_equal(launch(LONG_KERNEL, 1000), CUDA_SUCCESS);
	await_call("launch-original", calls, sizeof(calls));
	EVENTUALLY(all_prepared());
	fake_driver_takes(0);
}

int shim_queues(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_few_unseen_kernels_are_out_at_once),
		SHIM(test_a_long_kernel_has_nothing_behind_it_that_waits),
		SHIM(test_whoever_is_alone_may_use_its_streams),
		SHIM(test_known_kernels_too),
		SHIM(test_graphs_are_timed),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
