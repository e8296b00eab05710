/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim over a recording driver: what is called in which order, whatever
 * the daemon does to the page.  The test plays the daemon and the GPU.
 */
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
#include "device/ptx/ctl.h"
#include "device/shim/pool.h"
#include "fake_driver.h"

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
	"\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n"
	"\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
	"\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n";

#define STREAM ((CUstream)0x7000)
#define LONG_GRID 1000

static struct gs_page *page;
static CUfunction kernel;

/* Poll for a condition that another thread brings about; fails after 5 s. */
#define EVENTUALLY(condition) \
	do { \
		uint64_t until_ = gs_clock_ns() + 5 * GS_NS_PER_S; \
		while (!(condition)) { \
			assert_true(gs_clock_ns() < until_); \
			usleep(200); \
		} \
	} while (0)

static uint32_t state(void)
{
	return gs_page_load(page->stub[0].kstate);
}

static int all_prepared(void)
{
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		if (gs_page_load(page->stub[i].kstate) != GS_K_PREP ||
		    shim_launch_at(i)->owner != SHIM_FREE)
			return 0;
	return 1;
}

static void finish_all(void)
{
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		gs_stub_move(&page->stub[i], GS_K_RUNNING, GS_K_DONE);
}

static struct gs_stub *active(void)
{
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		if (gs_page_load(page->stub[i].kstate) != GS_K_PREP)
			return &page->stub[i];
	return &page->stub[0];
}

static void expect_calls(const char *expected)
{
	char text[4096];

	fake_driver_calls(text, sizeof(text));
	assert_string_equal(text, expected);
}

static void forget_calls(void)
{
	char text[4096];

	fake_driver_calls(text, sizeof(text));
}

static CUresult launch_in(CUfunction f, unsigned int grid, CUstream stream)
{
	static CUdeviceptr p = 0x1122334455667788;
	static uint32_t n = 0x99aabbcc;
	void *args[] = { &p, &n };

	return cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, stream, args, NULL);
}

static CUresult launch(CUfunction f, unsigned int grid)
{
	return launch_in(f, grid, STREAM);
}

static void ring(void)
{
	gs_page_ring(page);
}

static int setup(void **unused)
{
	CUmodule module;

	(void)unused;
	fake_driver_install();
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	expect_calls("load-transformed");
	assert_int_equal(cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
	page = shim_session()->page;
	EVENTUALLY(gs_page_load(page->turn) == 1);
	/* The first launch equips the context. */
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
	/* From here on the test is the daemon. */
	shim_session()->absent = GS_ABSENT_WAIT;
	return 0;
}

static int idle(void **unused)
{
	(void)unused;
	gs_page_store(page->turn, 1);
	EVENTUALLY(all_prepared());
	forget_calls();
	return 0;
}

static void test_evictable_launch_is_held(void **unused)
{
	const unsigned char *params = fake_driver_params();
	const struct gs_ctl *ctl;
	CUdeviceptr at;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-twin wait");
	assert_int_equal(gs_page_load(active()->kstate), GS_K_RUNNING);
	assert_int_equal(gs_page_load(active()->flags) & 0xffff, GS_STUB_EVICTABLE);
	assert_int_not_equal(gs_page_load(active()->flags) >> GS_STUB_SHAPE_SHIFT, 0);
	assert_int_equal(gs_page_load(active()->nt), LONG_GRID);
	assert_int_equal(fake_driver_grid(), FAKE_SMS * FAKE_BLOCKS_PER_SM);
	assert_int_equal(*(const uint64_t *)params, 0x1122334455667788);
	assert_int_equal(*(const uint32_t *)(params + 8), 0x99aabbcc);
	memcpy(&at, params + 16, sizeof(at));
	ctl = (const struct gs_ctl *)(uintptr_t)at;
	assert_int_equal(ctl->total, LONG_GRID);
	assert_int_equal(ctl->workers, FAKE_SMS * FAKE_BLOCKS_PER_SM);
	assert_int_equal(ctl->limit, UINT32_MAX);
	assert_int_equal(ctl->done, 0);
	assert_int_equal(ctl->stub, (uintptr_t)active());
	gs_page_store(active()->kstate, GS_K_DONE);
}

static void test_one_wave_goes_as_is(void **unused)
{
	(void)unused;
	assert_int_equal(launch(kernel, FAKE_SMS * FAKE_BLOCKS_PER_SM), CUDA_SUCCESS);
	/* started = 1, the kernel, DONE: the fake GPU does each at once. */
	expect_calls("write-1 launch-original write-5");
}

static void test_machine_code_goes_as_is(void **unused)
{
	(void)unused;
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
	expect_calls("write-1 launch-original write-5");
}

static void test_eviction_and_relaunch(void **unused)
{
	struct gs_stub *stub;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	stub = active();
	forget_calls();
	gs_page_store(page->turn, 0);
	assert_true(gs_stub_move(stub, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->bell));
	fake_driver_calls(text, sizeof(text));
	assert_true(strncmp(text, "write-control-0", 15) == 0);
	/* The last block out leaves it with work remaining. */
	gs_page_store(stub->done, 400);
	gs_page_store(stub->kstate, GS_K_READY);
	usleep(20000);
	forget_calls();
	usleep(20000);
	expect_calls("");
	/* Scheduled again. */
	assert_true(gs_stub_move(stub, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_RUNNING);
	usleep(20000);
	/* Behind every signal, which may be late, and before the relaunch. */
	expect_calls("write-control-4294967295 record-control await-relaunch relaunch-twin");
	assert_int_equal(gs_page_load(stub->evictions), 1);
	gs_page_store(stub->kstate, GS_K_DONE);
}

static void test_signal_is_repeated(void **unused)
{
	struct gs_stub *stub;
	char text[4096];
	int times = 0;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	stub = active();
	forget_calls();
	assert_true(gs_stub_move(stub, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	usleep(100000);
	fake_driver_calls(text, sizeof(text));
	for (char *at = text; (at = strstr(at, "write-control-0")); at++)
		times++;
	assert_true(times >= 3);
	gs_page_store(stub->kstate, GS_K_DONE);
}

/* With a proxy on the GPU nobody need tell the workers; one that has not begun cannot see it. */
static void test_proxy_sees_for_itself(void **unused)
{
	struct gs_stub *stub;
	CUdeviceptr at;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, 100 * LONG_GRID), CUDA_SUCCESS);
	stub = active();
	memcpy(&at, (const unsigned char *)fake_driver_params() + 16, sizeof(at));
	assert_int_equal(((const struct gs_ctl *)(uintptr_t)at)->proxy, 1);
	forget_calls();
	assert_true(gs_stub_move(stub, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->bell));
	fake_driver_calls(text, sizeof(text));
	assert_true(strncmp(text, "write-control-0", 15) == 0);
	gs_page_store(stub->started, 1);
	usleep(10000);
	forget_calls();
	usleep(20000);
	expect_calls("");
	gs_page_store(stub->kstate, GS_K_DONE);
}

/* EvictionSignal=dma: copies to the control stream, in a context that was equipped for it. */
static void test_signal_by_copy(void **unused)
{
	struct gs_stub *stub;
	char text[4096];

	(void)unused;
	shim_session()->signal = GS_SIGNAL_DMA;
	fake_driver_renew();
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	stub = active();
	forget_calls();
	assert_true(gs_stub_move(stub, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->bell));
	fake_driver_calls(text, sizeof(text));
	assert_true(strncmp(text, "copy", 4) == 0);
	assert_null(strstr(text, "write-control"));
	shim_session()->signal = GS_SIGNAL_AUTO;
	gs_page_store(stub->kstate, GS_K_DONE);
}

/* auto: what was measured decides, and noise does not. */
static void test_signal_by_its_time(void **unused)
{
	struct gs_signal_times t = { 0 };

	(void)unused;
	assert_true(gs_signal_proxy_pays(&t));
	assert_false(gs_signal_dma_pays(&t));
	t = (struct gs_signal_times){ 6900, 9300, 9100 }; /* an H200 */
	assert_true(gs_signal_proxy_pays(&t));
	assert_false(gs_signal_dma_pays(&t));
	t = (struct gs_signal_times){ 9500, 9300, 9000 };
	assert_true(gs_signal_proxy_pays(&t));
	t = (struct gs_signal_times){ 20000, 9300, 5000 };
	assert_false(gs_signal_proxy_pays(&t));
	assert_true(gs_signal_dma_pays(&t));
}

/* The fake GPU runs nothing, so it fails: once, within its limits, and the launch goes on. */
static void test_measuring_may_fail(void **unused)
{
	uint64_t from = gs_clock_ns();

	(void)unused;
	shim_session()->measure = 1;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	assert_int_equal(shim_session()->measure, 0);
	assert_int_equal(shim_session()->signal_times.proxy_ns, 0);
	assert_true(gs_clock_ns() - from < GS_NS_PER_S);
	assert_int_equal(gs_page_load(active()->kstate), GS_K_RUNNING);
	gs_page_store(active()->kstate, GS_K_DONE);
}

/* What it takes in blocks of one shape says nothing of another. */
static void test_time_is_of_a_block_shape(void **unused)
{
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n };
	const unsigned int shape[][3] = { { 32, 1, 1 }, { 8, 4, 1 }, { 4, 4, 2 }, { 2, 4, 4 }, { 1, 1, 32 } };
	struct shim_kernel *k = shim_kernel_find(kernel);

	(void)unused;
	shim_kernel_time(k, shape[0])->tpt_ps = 1000;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("launch-original");
	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 8, 4, 1, 0, STREAM, args, NULL), CUDA_SUCCESS);
	expect_calls("batch launch-twin wait");
	gs_page_store(active()->kstate, GS_K_DONE);
	shim_kernel_time(k, shape[0])->tpt_ps = 0;
	/* Beyond what is told apart they are one. */
	assert_ptr_not_equal(shim_kernel_time(k, shape[1]), shim_kernel_time(k, shape[2]));
	assert_ptr_equal(shim_kernel_time(k, shape[3]), shim_kernel_time(k, shape[4]));
	assert_ptr_equal(shim_kernel_time(k, shape[2]), shim_kernel_time(k, shape[2]));
}

/* Told to leave and called back before it started: its limit is lifted, nothing is relaunched. */
static void test_call_back(void **unused)
{
	struct gs_stub *stub;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	stub = active();
	gs_page_store(page->turn, 0);
	assert_true(gs_stub_move(stub, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->bell));
	gs_page_store(page->turn, 1);
	assert_true(gs_stub_move(stub, GS_K_TOEVICT, GS_K_RUNNING));
	forget_calls();
	ring();
	usleep(20000);
	fake_driver_calls(text, sizeof(text));
	assert_non_null(strstr(text, "write-control-4294967295"));
	assert_null(strstr(text, "relaunch"));
	assert_int_equal(gs_page_load(stub->kstate), GS_K_RUNNING);
	gs_page_store(stub->kstate, GS_K_DONE);
}

/* It left although the turn is ours: the agent relaunches it without asking. */
static void test_relaunch_with_the_turn(void **unused)
{
	struct gs_stub *stub;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	stub = active();
	forget_calls();
	gs_page_store(stub->kstate, GS_K_READY);
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_RUNNING);
	usleep(10000);
	expect_calls("relaunch-twin");
	gs_page_store(stub->kstate, GS_K_DONE);
}

/*
 * A signal of the stub's last launch arrives late, and the kernel leaves without
 * having been told: the limit of 0 is in the device's memory and nowhere else.
 * Relaunched without more ado it would leave again and again.
 */
static void test_late_signal_is_lifted(void **unused)
{
	const unsigned int grid = 12 * FAKE_SMS * FAKE_BLOCKS_PER_SM; /* too few for a proxy */
	struct gs_stub *stub;

	(void)unused;
	assert_int_equal(launch(kernel, grid), CUDA_SUCCESS);
	stub = active();
	assert_true(gs_stub_move(stub, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->bell));
	gs_page_store(stub->kstate, GS_K_DONE);
	EVENTUALLY(all_prepared());
	/* Until a launch gets that stub again. */
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++) {
		assert_int_equal(launch(kernel, grid), CUDA_SUCCESS);
		if (active() == stub)
			break;
		finish_all();
		EVENTUALLY(all_prepared());
	}
	assert_ptr_equal(active(), stub);
	forget_calls();
	gs_page_store(stub->kstate, GS_K_READY);
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_RUNNING);
	usleep(10000);
	expect_calls("write-control-4294967295 record-control await-relaunch relaunch-twin");
	/* Once is enough. */
	gs_page_store(stub->kstate, GS_K_READY);
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_RUNNING);
	usleep(10000);
	expect_calls("relaunch-twin");
	gs_page_store(stub->kstate, GS_K_DONE);
}

static void test_refused_relaunch_is_tried_again(void **unused)
{
	struct gs_stub *stub;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	stub = active();
	gs_page_store(page->turn, 0);
	fake_driver_fail("relaunch-twin", CUDA_ERROR_OUT_OF_MEMORY);
	gs_page_store(stub->kstate, GS_K_TORUN);
	ring();
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_READY);
	assert_true(gs_stub_move(stub, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_RUNNING);
	gs_page_store(stub->kstate, GS_K_DONE);
}

static void *launch_in_thread(void *rc)
{
	*(CUresult *)rc = launch(kernel, LONG_GRID);
	return NULL;
}

static void test_without_the_turn_it_waits(void **unused)
{
	CUresult rc = CUDA_ERROR_UNKNOWN;
	struct gs_stub *stub;
	pthread_t thread;

	(void)unused;
	gs_page_store(page->turn, 0);
	pthread_create(&thread, NULL, launch_in_thread, &rc);
	EVENTUALLY(gs_page_load(active()->kstate) == GS_K_READY);
	stub = active();
	usleep(30000);
	expect_calls("");
	assert_true(gs_stub_move(stub, GS_K_READY, GS_K_TORUN));
	ring();
	pthread_join(thread, NULL);
	assert_int_equal(rc, CUDA_SUCCESS);
	expect_calls("batch launch-twin wait");
	gs_page_store(stub->kstate, GS_K_DONE);
}

static void test_failed_launch_leaves_nothing(void **unused)
{
	(void)unused;
	fake_driver_fail("launch-twin", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	assert_int_equal(state(), GS_K_PREP);
	assert_true(all_prepared());
	/* Nor does a hold: this returns at once. */
	assert_int_equal(cuMemFree_v2(0), CUDA_SUCCESS);
}

/* What a failed launch meant to write is not taken for written by the next one that wants the same. */
static void test_failed_writes_are_made_again(void **unused)
{
	const unsigned char *params = fake_driver_params();
	const struct gs_ctl *ctl;
	CUdeviceptr at;

	(void)unused;
	for (int i = 0; i < (int)GS_PAGE_STUBS; i++) {
		fake_driver_fail("batch", CUDA_ERROR_OUT_OF_MEMORY);
		assert_int_equal(launch(kernel, 3 * LONG_GRID), CUDA_ERROR_OUT_OF_MEMORY);
	}
	forget_calls();
	assert_int_equal(launch(kernel, 3 * LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-twin wait");
	memcpy(&at, params + 16, sizeof(at));
	ctl = (const struct gs_ctl *)(uintptr_t)at;
	assert_int_equal(ctl->total, 3 * LONG_GRID);
	gs_page_store(active()->kstate, GS_K_DONE);
	EVENTUALLY(all_prepared());
	/* Nor after one that was refused because no daemon is there. */
	gs_page_store(page->turn, 0);
	shim_session()->absent = GS_ABSENT_FAIL;
	for (int i = 0; i < (int)GS_PAGE_STUBS; i++)
		assert_int_equal(launch(kernel, 4 * LONG_GRID), CUDA_ERROR_SYSTEM_NOT_READY);
	shim_session()->absent = GS_ABSENT_WAIT;
	gs_page_store(page->turn, 1);
	assert_int_equal(launch(kernel, 4 * LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-twin wait");
	memcpy(&at, params + 16, sizeof(at));
	ctl = (const struct gs_ctl *)(uintptr_t)at;
	assert_int_equal(ctl->total, 4 * LONG_GRID);
	gs_page_store(active()->kstate, GS_K_DONE);
}

/* A kernel may wait for what its program does after the next launch: that one returns. */
static void test_a_full_queue_is_no_wall(void **unused)
{
	struct shim_launch *waits = shim_launch_at(GS_PAGE_STUBS - 1);
	uint64_t from = gs_clock_ns();

	(void)unused;
	alarm(10);
	shim_launch_queue(waits, 10 * GS_NS_PER_MS);
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
	alarm(0);
	expect_calls("write-1 launch-original write-5");
	/* Not at once: it might have ended. */
	assert_true(gs_clock_ns() - from > 40 * GS_NS_PER_MS);
	shim_launch_drop(waits);
	EVENTUALLY(shim_launch_queued_ns() == 0);
}

static _Atomic int freeing;

static void *free_in_thread(void *done)
{
	freeing = 1;
	cuMemFree_v2(0);
	*(_Atomic int *)done = 1;
	return NULL;
}

/* The hold rule: cuMemFree waits for the held kernel; a kernel beside it is not evictable. */
static void test_hold_rule(void **unused)
{
	_Atomic int done = 0;
	struct gs_stub *stub;
	pthread_t thread;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	stub = active();
	forget_calls();
	pthread_create(&thread, NULL, free_in_thread, &done);
	EVENTUALLY(freeing); /* a busy machine begins it late */
	usleep(50000);
	assert_int_equal(done, 0);
	expect_calls("");
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("write-1 launch-original write-5");
	gs_page_store(stub->kstate, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	expect_calls("free");
}

/* More launches than stubs: the pool reclaims and goes on. */
static void test_pool_is_reclaimed(void **unused)
{
	(void)unused;
	for (int i = 0; i < 3 * (int)GS_PAGE_STUBS; i++)
		assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
}

static void test_broken_ptx_goes_to_the_driver(void **unused)
{
	CUmodule module;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, ".version 7.0 @#!"), CUDA_SUCCESS);
	expect_calls("load-original");
	/* The driver takes the transformed text badly: it gets the program's own. */
	fake_driver_fail("load-transformed", CUDA_ERROR_INVALID_PTX);
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	expect_calls("load-transformed load-original");
}

static void test_proc_address_gives_wrappers(void **unused)
{
	(void)unused;
	assert_ptr_equal(shim_wrapper_of(shim_real(SHIM_FN_cuLaunchKernel)),
			 (void *)(uintptr_t)cuLaunchKernel);
	assert_null(shim_wrapper_of((void *)(uintptr_t)shim_wrapper_of));
	/* What keeps the hold rule and nothing else, too; what is safe is the driver's own. */
	assert_ptr_equal(shim_wrapper_of(shim_real(SHIM_FN_cuMemcpyDtoH_v2)),
			 (void *)(uintptr_t)cuMemcpyDtoH);
	assert_null(shim_wrapper_of(shim_real(SHIM_FN_cuStreamGetFlags)));
}

#define MANY 2000
static _Atomic int launched_behind;

static void count_launches(const char *call, CUstream stream)
{
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
	struct gs_stub *stub;
	pthread_t thread;

	(void)unused;
	launched_behind = 0;
	assert_int_equal(launch_in(kernel, LONG_GRID, NULL), CUDA_SUCCESS);
	stub = active();
	fake_driver_inside(count_launches);
	pthread_create(&thread, NULL, launch_many, &done);
	usleep(200000);
	assert_int_equal(done, 0);
	assert_in_range(launched_behind, 1, 1019 / 5);
	gs_page_store(stub->kstate, GS_K_READY);
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_RUNNING);
	gs_page_store(stub->kstate, GS_K_DONE);
	pthread_join(thread, NULL);
	fake_driver_inside(NULL);
	assert_int_equal(launched_behind, MANY);
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
	struct gs_stub *stub;
	pthread_t thread;
	char text[4096];

	(void)unused;
	assert_int_equal(launch_in(kernel, LONG_GRID, NULL), CUDA_SUCCESS);
	stub = active();
	forget_calls();
	pthread_create(&thread, NULL, copy_in_thread, &done);
	usleep(30000);
	gs_page_store(stub->kstate, GS_K_READY); /* it has left; the turn is ours */
	EVENTUALLY(gs_page_load(stub->kstate) == GS_K_RUNNING);
	usleep(20000);
	assert_int_equal(done, 0);
	fake_driver_calls(text, sizeof(text));
	assert_non_null(strstr(text, "relaunch-twin"));
	assert_null(strstr(text, "dtoh"));
	gs_page_store(stub->kstate, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	expect_calls("dtoh");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_evictable_launch_is_held, idle),
		cmocka_unit_test_setup(test_one_wave_goes_as_is, idle),
		cmocka_unit_test_setup(test_machine_code_goes_as_is, idle),
		cmocka_unit_test_setup(test_eviction_and_relaunch, idle),
		cmocka_unit_test_setup(test_signal_is_repeated, idle),
		cmocka_unit_test_setup(test_proxy_sees_for_itself, idle),
		cmocka_unit_test_setup(test_measuring_may_fail, idle),
		cmocka_unit_test_setup(test_signal_by_its_time, idle),
		cmocka_unit_test_setup(test_signal_by_copy, idle),
		cmocka_unit_test_setup(test_time_is_of_a_block_shape, idle),
		cmocka_unit_test_setup(test_call_back, idle),
		cmocka_unit_test_setup(test_relaunch_with_the_turn, idle),
		cmocka_unit_test_setup(test_late_signal_is_lifted, idle),
		cmocka_unit_test_setup(test_refused_relaunch_is_tried_again, idle),
		cmocka_unit_test_setup(test_without_the_turn_it_waits, idle),
		cmocka_unit_test_setup(test_failed_launch_leaves_nothing, idle),
		cmocka_unit_test_setup(test_failed_writes_are_made_again, idle),
		cmocka_unit_test_setup(test_a_full_queue_is_no_wall, idle),
		cmocka_unit_test_setup(test_hold_rule, idle),
		cmocka_unit_test_setup(test_pool_is_reclaimed, idle),
		cmocka_unit_test_setup(test_broken_ptx_goes_to_the_driver, idle),
		cmocka_unit_test_setup(test_proc_address_gives_wrappers, idle),
		cmocka_unit_test_setup(test_copy_by_address_waits, idle),
		cmocka_unit_test_setup(test_launches_behind_a_hold_are_bounded, idle),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
