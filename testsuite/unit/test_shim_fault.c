/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim does once a fault has ended a context, over a recording
 * driver: nobody waits for what will never report its end, and the program
 * gets the driver's own error.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "device/shim/pool.h"
#include "device/shim/session.h"
#include "fake_driver.h"

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k(.param .u64 p)\n{\n"
	"\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n"
	"\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
	"\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n";

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

static int all_prepared(void)
{
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		if (gs_page_load(page->stub[i].kstate) != GS_K_PREP ||
		    shim_launch_at(i)->owner != SHIM_FREE)
			return 0;
	return 1;
}

/* An evictable launch in a stream of its own, in the context that is current. */
static struct gs_stub *launch(void)
{
	static uintptr_t stream = 0x7000;
	CUdeviceptr p = 0;
	void *args[] = { &p };

	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 0,
					(CUstream)(stream += 0x10), args, NULL), CUDA_SUCCESS);
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		if (gs_page_load(page->stub[i].kstate) == GS_K_RUNNING)
			return &page->stub[i];
	fail_msg("nothing is running");
	return NULL;
}

static int setup(void **unused)
{
	CUmodule module;

	(void)unused;
	fake_driver_install();
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	if (cuModuleLoadData(&module, ptx) != CUDA_SUCCESS ||
	    cuModuleGetFunction(&kernel, module, "k") != CUDA_SUCCESS)
		return -1;
	page = shim_session()->page;
	EVENTUALLY(gs_page_load(page->turn) == 1);
	/* From here on the test is the daemon. */
	shim_session()->absent = GS_ABSENT_WAIT;
	return 0;
}

static int sound(void **unused)
{
	(void)unused;
	gs_page_store(page->turn, 1);
	EVENTUALLY(all_prepared());
	fake_driver_renew();
	return 0;
}

static void *free_in_thread(void *rc)
{
	*(_Atomic int *)rc = (int)cuMemFree_v2(0);
	return NULL;
}

/* A call that waits for held kernels: the fault ends the waiting, the driver's error is its result. */
static void test_waiting_call(void **unused)
{
	_Atomic int rc = -1;
	CUdeviceptr p = 0;
	void *args[] = { &p };
	pthread_t thread;

	(void)unused;
	launch();
	pthread_create(&thread, NULL, free_in_thread, &rc);
	usleep(50000);
	assert_int_equal(rc, -1);
	fake_driver_break(CUDA_ERROR_ILLEGAL_ADDRESS);
	EVENTUALLY(rc != -1);
	pthread_join(thread, NULL);
	assert_int_equal(rc, CUDA_ERROR_ILLEGAL_ADDRESS);
	EVENTUALLY(all_prepared());
	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 0, (CUstream)0x7000, args, NULL),
			 CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_true(all_prepared());
}

/* In whatever state a launch is, its stub comes to PREP: the daemon waits for none of them. */
static void test_every_state(void **unused)
{
	static const uint32_t state[] = { GS_K_RUNNING, GS_K_TOEVICT, GS_K_READY, GS_K_TORUN, GS_K_DONE, 77 };
	struct gs_stub *stub;

	(void)unused;
	for (size_t i = 0; i < sizeof(state) / sizeof(state[0]); i++) {
		sound(NULL);
		stub = launch();
		gs_page_store(page->turn, 0);
		fake_driver_break(CUDA_ERROR_LAUNCH_FAILED);
		gs_page_store(stub->kstate, state[i]);
		EVENTUALLY(all_prepared());
		assert_int_equal(cuMemFree_v2(0), CUDA_ERROR_LAUNCH_FAILED);
	}
}

/* A launch that is refused for it leaves nothing behind, nor does one that went out as the program wrote it. */
static void test_as_is(void **unused)
{
	(void)unused;
	assert_int_equal(cuLaunchKernel(FAKE_MACHINE_CODE, 1, 1, 1, 32, 1, 1, 0, (CUstream)0x7000, NULL, NULL),
			 CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
	fake_driver_break(CUDA_ERROR_MISALIGNED_ADDRESS);
	assert_int_equal(cuLaunchKernel(FAKE_MACHINE_CODE, 1, 1, 1, 32, 1, 1, 0, (CUstream)0x7000, NULL, NULL),
			 CUDA_ERROR_MISALIGNED_ADDRESS);
	EVENTUALLY(all_prepared());
}

/* The driver refuses a relaunch because of a fault: it is not tried for ever. */
static void test_relaunch_meets_the_fault(void **unused)
{
	struct gs_stub *stub;

	(void)unused;
	stub = launch();
	gs_page_store(page->turn, 0);
	gs_page_store(stub->kstate, GS_K_READY);
	usleep(5000);
	fake_driver_fail("relaunch-twin", CUDA_ERROR_ILLEGAL_INSTRUCTION);
	assert_true(gs_stub_move(stub, GS_K_READY, GS_K_TORUN));
	gs_page_ring(page);
	EVENTUALLY(all_prepared());
}

/* Anything else that the driver says ends nothing. */
static void test_other_errors(void **unused)
{
	struct gs_stub *stub;

	(void)unused;
	stub = launch();
	fake_driver_break(CUDA_ERROR_NOT_READY);
	usleep(60000);
	assert_int_equal(gs_page_load(stub->kstate), GS_K_RUNNING);
	fake_driver_break(CUDA_ERROR_OUT_OF_MEMORY);
	usleep(60000);
	assert_int_equal(gs_page_load(stub->kstate), GS_K_RUNNING);
	gs_page_store(stub->kstate, GS_K_DONE);
}

/* One context's fault is not another's. */
static void test_other_contexts(void **unused)
{
	struct gs_stub *stub;

	(void)unused;
	launch();
	fake_driver_break(CUDA_ERROR_ILLEGAL_ADDRESS);
	EVENTUALLY(all_prepared());
	fake_driver_renew();
	stub = launch();
	usleep(60000);
	assert_int_equal(gs_page_load(stub->kstate), GS_K_RUNNING);
	gs_page_store(stub->kstate, GS_K_DONE);
}

/* A context is destroyed with a kernel out that reports nothing any more. */
static void test_destroyed(void **unused)
{
	CUcontext ctx = fake_driver_renew();
	struct gs_stub *stub;

	(void)unused;
	stub = launch();
	/* As if it were not evictable: destroying waits for those that are. */
	shim_hold_end(shim_launch_at((uint32_t)(stub - page->stub))->stream, 0);
	shim_launch_at((uint32_t)(stub - page->stub))->evictable = 0;
	assert_int_equal(cuCtxDestroy_v2(ctx), CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_waiting_call, sound),
		cmocka_unit_test_setup(test_every_state, sound),
		cmocka_unit_test_setup(test_as_is, sound),
		cmocka_unit_test_setup(test_relaunch_meets_the_fault, sound),
		cmocka_unit_test_setup(test_other_errors, sound),
		cmocka_unit_test_setup(test_other_contexts, sound),
		cmocka_unit_test_setup(test_destroyed, sound),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
