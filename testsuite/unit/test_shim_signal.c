/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a kernel that is to leave is told: by whom, how often, by which means. */
#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/ptx/ctl.h"
#include "fake_driver.h"
#include "shim_rig.h"

/* How often it is told within so many ms, or as soon as it was told `enough` times. */
static int told(unsigned int ms, int enough)
{
	uint64_t until = gs_clock_ns() + ms * GS_NS_PER_MS;
	char text[4096];
	int times = 0;

	while (times < enough && gs_clock_ns() < until) {
		usleep(1000);
		fake_driver_calls(text, sizeof(text));
		for (char *at = text; (at = strstr(at, "write-control-0")); at++)
			times++;
	}
	return times;
}

/* That often, and no more. */
static void expect_told(int times)
{
	assert_int_equal(told(20000, times), times);
	assert_int_equal(told(100, INT_MAX), 0);
}

/*
 * The launch's own limit may come behind the signal.  One that has not started is told
 * twice, though: it may be behind another kernel for as long as a neighbour's turn lasts.
 */
static void test_signal_is_repeated(void **unused)
{
	const unsigned int grid = 12 * FAKE_SMS * FAKE_BLOCKS_PER_SM; /* too few for a proxy */
	struct gs_slot *slot;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, grid), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	expect_told(2);
	gs_page_store(slot->started, 1);
	assert_true(told(20000, 3) >= 3);
	/* Called back and told to leave once more, a fresh start. */
	gs_page_store(slot->started, 0);
	assert_true(gs_slot_move(slot, GS_K_TOEVICT, GS_K_RUNNING));
	await_call("write-control-4294967295", text, sizeof(text));
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	expect_told(2);
	gs_page_store(slot->state, GS_K_DONE);
}

/* With a proxy on the GPU nobody need tell the workers; one that has not begun cannot see it. */
static void test_proxy_sees_for_itself(void **unused)
{
	struct gs_slot *slot;
	CUdeviceptr at;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, 100 * LONG_GRID), CUDA_SUCCESS);
	slot = active();
	memcpy(&at, (const unsigned char *)fake_driver_params() + 16, sizeof(at));
	assert_int_equal(((const struct gs_ctl *)(uintptr_t)at)->proxy, 1);
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	fake_driver_calls(text, sizeof(text));
	assert_true(strncmp(text, "write-control-0", 15) == 0);
	gs_page_store(slot->started, 1);
	usleep(10000);
	forget_calls();
	usleep(20000);
	expect_calls("");
	gs_page_store(slot->state, GS_K_DONE);
}

/* eviction_signal=dma: copies to the control stream, in a context that was equipped for it. */
static void test_signal_by_copy(void **unused)
{
	struct gs_slot *slot;
	char text[4096];

	(void)unused;
	shim_session()->signal = GS_SIGNAL_DMA;
	fake_driver_renew();
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	fake_driver_calls(text, sizeof(text));
	assert_true(strncmp(text, "copy", 4) == 0);
	assert_null(strstr(text, "write-control"));
	shim_session()->signal = GS_SIGNAL_AUTO;
	gs_page_store(slot->state, GS_K_DONE);
}

int shim_signals(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_signal_is_repeated),
		SHIM(test_proxy_sees_for_itself),
		SHIM(test_signal_by_copy),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
