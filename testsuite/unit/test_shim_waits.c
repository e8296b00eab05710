/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that were measured to block in the driver with its lock (DESIGN.md, "barrier rule";
 * facts/h200.md): none enters it while a kernel is held, and the kernel's relaunch, which needs
 * that lock, comes through meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/base/wraps.h"
#include "fake_driver.h"
#include "shim_rig.h"

static _Atomic int begun, entered;

/* Any function of the driver's; none of their arguments is looked at. */
static CUresult enter(void)
{
	entered++;
	return CUDA_ERROR_INVALID_VALUE;
}

/* The program's way to it, which cuGetProcAddress gives; by the driver's address, which many have
 * in common otherwise. */
static void *ours(enum shim_fn fn)
{
	void *was = shim_slot[fn], *symbol;

	shim_slot[fn] = (void *)(uintptr_t)enter;
	symbol = shim_wrapper_of((void *)(uintptr_t)enter);
	shim_slot[fn] = was;
	if (!symbol)
		fail_msg("%s is not ours", shim_name(fn));
	return symbol;
}

struct blocks {
	enum shim_fn call, in; /* what the program calls, and what enters the driver */
};
#define SAME(name) \
	{ \
		SHIM_FN_##name, SHIM_FN_##name \
	}

/* Whatever stream the kernel is held in. */
static const struct blocks always[] = {
	SAME(cuMemFree_v2),
	SAME(cuMemFreeHost),
	SAME(cuMemHostUnregister),
	SAME(cuArrayDestroy),
	SAME(cuMipmappedArrayDestroy),
	SAME(cuModuleLoadData),
	SAME(cuModuleLoadDataEx),
	SAME(cuModuleLoadFatBinary),
	SAME(cuModuleLoad),
	SAME(cuLibraryLoadData),
	SAME(cuLibraryLoadFromFile),
	SAME(cuLinkAddData_v2),
	SAME(cuLinkAddFile_v2),
	SAME(cuCtxSetLimit),
	SAME(cuCtxDestroy_v2),
	SAME(cuFuncSetAttribute),
	SAME(cuFuncLoad),
	SAME(cuMemcpy),
};

/* Only the legacy default stream, or one that synchronises with it. */
static const struct blocks legacy[] = {
	SAME(cuMemcpyHtoD_v2),      SAME(cuMemcpyDtoH_v2),    SAME(cuMemcpyDtoD_v2),
	SAME(cuMemcpy2D_v2),        SAME(cuMemcpy3D_v2),      SAME(cuMemcpyAtoH_v2),
	SAME(cuMemcpyHtoA_v2),      SAME(cuMemcpyAsync),      SAME(cuMemcpyHtoDAsync_v2),
	SAME(cuMemcpyDtoHAsync_v2), SAME(cuMemcpy2DAsync_v2),
};

/* Arguments that each of them takes for something: numbers, and zeros to read. */
static void *call(void *symbol)
{
	static uint64_t zeros[64];
	CUresult (*f)(void *, void *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

	memcpy(&f, &symbol, sizeof(f));
	begun = 1;
	f(zeros, zeros, 0, 0, 0, 0, 0, 0);
	return NULL;
}

/* While a kernel is held in that stream, the call waits until it is over, or does not. */
static void expect_enters(const struct blocks *b, CUstream held_in, int waits)
{
	void *symbol = ours(b->call), *was = shim_slot[b->in];
	struct gs_slot *slot;
	pthread_t thread;
	char text[4096];

	shim_slot[b->in] = (void *)(uintptr_t)enter;
	begun = entered = 0;
	assert_int_equal(launch_in(kernel, LONG_GRID, held_in), CUDA_SUCCESS);
	slot = active();
	pthread_create(&thread, NULL, call, symbol);
	EVENTUALLY(begun);
	if (waits) {
		usleep(5000);
		forget_calls();
		gs_page_store(slot->state, GS_K_READY); /* it has left; the time slice is ours */
		EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
		await_call("relaunch-variant", text, sizeof(text));
		usleep(5000);
		if (entered)
			fail_msg("%s has entered the driver", shim_name(b->call));
	} else {
		EVENTUALLY(entered);
	}
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	if (!entered)
		fail_msg("%s has not come to the driver", shim_name(b->call));
	EVENTUALLY(all_prepared());
	shim_slot[b->in] = was;
}

static void test_always(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		expect_enters(&always[i], STREAM, 1);
}

static void test_legacy(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(legacy) / sizeof(legacy[0]); i++) {
		expect_enters(&legacy[i], NULL, 1);
		expect_enters(&legacy[i], FAKE_BLOCKING, 1);
		expect_enters(&legacy[i], STREAM, 0);
	}
}

int shim_waits(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_always),
		SHIM(test_legacy),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
