/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program with so many connections may rely on (shim_connections()): with the driver's
 * number one stream holds a kernel, with few none does, and then nothing waits. Run by
 * test_shim_channels.c, each group in a process of its own, since the number is read once.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/driver/connections.h"
#include "device/ptx/transform.h"
#include "device/shim/context/barrier.h"
#include "fake_driver.h"
#include "shim_streams.h"

#define VARIABLE "CUDA_DEVICE_MAX_CONNECTIONS"
/* Far less than the patience of whoever waits for a channel (patience.h). */
#define AT_ONCE_NS (GS_NS_PER_S / 2)

/* The latest launch that went out as written did so since its stream may not be blocked. */
static int for_its_stream(void)
{
	return shim_kernel_find(kernel)->why == PTX_REASON_STREAMS;
}

static void test_of_the_default_one_stream_is_blocked(void **unused)
{
	(void)unused;
	make(MADE);
	setenv(VARIABLE, "1", 1); /* it was read: this one is for nobody */
	assert_int_equal(shim_connections(), 8);
	assert_int_equal(shim_channels_busy(), 4);
	assert_true(launches(1));
	assert_true(launches(1));
	assert_false(for_its_stream());
	assert_false(launches(2));
	assert_true(for_its_stream());
	over();
	assert_true(launches(2));
	over();
}

/* Beside it two others have something to do, and the default one. */
static void test_of_the_default_four_are_busy(void **unused)
{
	struct call call;

	(void)unused;
	make(MADE);
	begin_idle();
	assert_true(launches(0));
	occupy(1);
	occupy(2);
	begin_waiting(&call, launch_as_is, 3);
	pending[1] = 0;
	expect_done(&call);
	over();
}

static void test_of_few_none_is_blocked(void **expected)
{
	uint64_t from = gs_clock_ns();

	make(MADE);
	assert_int_equal(shim_connections(), *(const uint32_t *)*expected);
	for (unsigned int i = 1; i < MADE; i++) {
		assert_false(launches(i));
		assert_true(for_its_stream());
	}
	assert_int_equal(atomic_load(&shim_held[0]), 0);
	assert_true(gs_clock_ns() - from < AT_ONCE_NS);
	over();
}

/* Nobody is sent to wait for a channel: nothing is ever relaunched. */
static void test_of_few_nothing_waits(void **unused)
{
	uint64_t from = gs_clock_ns();

	(void)unused;
	make(MADE);
	shim_kernel_graph(FAKE_GRAPH, 0, 12, 12);
	for (unsigned int i = 1; i < MADE; i++) {
		occupy(i);
		occupy_by_event(i);
		assert_false(launches(i));
	}
	assert_int_equal(cuGraphLaunch(FAKE_GRAPH, AT(1)), CUDA_SUCCESS);
	assert_false(launches(2));
	shim_barrier_enter(0);
	shim_barrier_leave(0);
	assert_false(shim_is_uncommon(SHIM_UNCOMMON_CROWDED));
	assert_true(gs_clock_ns() - from < AT_ONCE_NS);
	over();
}

/* The most that may be: one more goes out as written. */
static void test_of_many_all_but_seven_are_blocked(void **unused)
{
	(void)unused;
	for (uintptr_t i = 0; i < 25; i++)
		assert_int_equal(launch_in(kernel, LONG_GRID, (CUstream)(0x20000 + 0x10 * i)),
				 CUDA_SUCCESS);
	assert_false(for_its_stream());
	assert_int_equal(launch_in(kernel, LONG_GRID, (CUstream)0x30000), CUDA_SUCCESS);
	assert_true(for_its_stream());
	assert_int_equal(atomic_load(&shim_held[0]), 25);
	over();
}

static uint32_t few;

static int begin_few(void **state)
{
	int rc = shim_rig_idle(state);

	*state = &few;
	return rc;
}

int shim_connections_default(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_of_the_default_one_stream_is_blocked),
		SHIM(test_of_the_default_four_are_busy),
	};
	/* What is set and no number from 1 to 32, or has more than that in it. */
	static const char *const none[] = {
		"", "0", "-1", "33", "20x", "many", "99999999999999999999"
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		setenv(VARIABLE, none[i], 1);
		if (cu_connections(1) != 1 || cu_connections(8) != 8)
			return 1;
	}
	unsetenv(VARIABLE);
	if (cu_connections(1) != CU_CONNECTIONS_DEFAULT)
		return 1;
	shim_rig_connections = NULL;
	return cmocka_run_group_tests(tests, streams_setup, NULL);
}

static int with_few(const char *connections)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_of_few_none_is_blocked, begin_few),
		SHIM(test_of_few_nothing_waits),
	};

	shim_rig_connections = connections;
	few = (uint32_t)atoi(connections);
	return cmocka_run_group_tests(tests, streams_setup, NULL);
}

int shim_connections_one(void)
{
	return with_few("1");
}

int shim_connections_five(void)
{
	return with_few("5");
}

int shim_connections_seven(void)
{
	return with_few("7");
}

int shim_connections_most(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_of_many_all_but_seven_are_blocked),
	};

	shim_rig_connections = "32";
	return cmocka_run_group_tests(tests, streams_setup, NULL);
}
