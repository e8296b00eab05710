/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies through the shim: what of them is counted in the page, and what that costs. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/wraps.h"
#include "shim_rig.h"

/* No renaming to the newest version: each is tried by its own name. */
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync

#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)
#define HOST ((CUdeviceptr)0x1000)
#define GPU ((CUdeviceptr)0x2000)
#define PAGEABLE ((CUdeviceptr)0x3000)
#define LARGE (UINT64_C(1) << 20)

static CUresult answer;
static uint64_t takes_ns;

static CUresult fake_copy(void)
{
	uint64_t until = gs_clock_ns() + takes_ns;

	while (takes_ns && gs_clock_ns() < until)
		;
	return answer;
}

static CUresult fake_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
	assert_int_equal(attribute, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
	*(unsigned int *)data = p == HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	return p == PAGEABLE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static int setup(void **state)
{
	(void)state;
	answer = CUDA_SUCCESS;
	takes_ns = 0;
	memset(page->copies.made, 0, sizeof(page->copies.made));
	PUT(cuPointerGetAttribute, fake_attribute);
#define FAKE(name) PUT(name, fake_copy)
	FAKE(cuMemcpy);
	FAKE(cuMemcpyAsync_ptsz);
	FAKE(cuMemcpyHtoD_v2);
	FAKE(cuMemcpyDtoH_v2_ptds);
	FAKE(cuMemcpyDtoD_v2);
	FAKE(cuMemcpyHtoDAsync_v2);
	FAKE(cuMemcpyDtoHAsync_v2);
	FAKE(cuMemcpyDtoDAsync_v2);
	FAKE(cuMemcpyHtoAAsync_v2);
	FAKE(cuMemcpyAtoH_v2);
	FAKE(cuMemcpyAtoA_v2);
	FAKE(cuMemcpy2DAsync_v2);
	FAKE(cuMemcpy3D_v2);
	FAKE(cuMemcpyPeerAsync);
	FAKE(cuMemcpyBatchAsync_v2);
	return 0;
}

/* Since the last of these: so many copies and bytes that way, and nothing any other way. */
static void made(int way, uint64_t copies, uint64_t bytes)
{
	for (int i = 0; i < GS_COPY_DIRECTIONS; i++) {
		struct gs_copies_made *is = &page->copies.made[i];

		assert_int_equal(is->copies, i == way ? copies : 0);
		assert_int_equal(is->bytes, i == way ? bytes : 0);
	}
	memset(page->copies.made, 0, sizeof(page->copies.made));
}

static void each_way(void **state)
{
	int word = 0;

	(void)state;
	assert_int_equal(cuMemcpyHtoD_v2(GPU, &word, 4), CUDA_SUCCESS);
	made(GS_COPY_TO_DEVICE, 1, 4);
	assert_int_equal(cuMemcpyDtoH_v2_ptds(&word, GPU, 4), CUDA_SUCCESS);
	made(GS_COPY_TO_HOST, 1, 4);
	cuMemcpyDtoD_v2(GPU, GPU, LARGE);
	made(GS_COPY_OTHER, 1, LARGE);
	cuMemcpyHtoDAsync_v2(GPU, &word, 4, STREAM);
	cuMemcpyHtoDAsync_v2(GPU, &word, 5, STREAM);
	made(GS_COPY_TO_DEVICE, 2, 9);
	cuMemcpyDtoHAsync_v2(&word, GPU, 4, STREAM);
	made(GS_COPY_TO_HOST, 1, 4);
	cuMemcpyDtoDAsync_v2(GPU, GPU, 7, STREAM);
	made(GS_COPY_OTHER, 1, 7);
	cuMemcpyHtoAAsync_v2((CUarray)0x10, 0, &word, 4, STREAM);
	made(GS_COPY_TO_DEVICE, 1, 4);
	cuMemcpyAtoH_v2(&word, (CUarray)0x10, 0, 4);
	made(GS_COPY_TO_HOST, 1, 4);
	cuMemcpyAtoA_v2((CUarray)0x10, 0, (CUarray)0x20, 0, 4);
	made(GS_COPY_OTHER, 1, 4);
	cuMemcpyPeerAsync(GPU, NULL, GPU, NULL, LARGE, STREAM);
	made(GS_COPY_OTHER, 1, LARGE);
}

static void addresses_are_looked_up_if_that_is_worth_it(void **state)
{
	CUdeviceptr dst[] = { GPU, HOST }, src[] = { PAGEABLE, GPU };
	size_t bytes[] = { LARGE, 3 };

	(void)state;
	cuMemcpy(GPU, HOST, LARGE);
	made(GS_COPY_TO_DEVICE, 1, LARGE);
	cuMemcpy(GPU, PAGEABLE, LARGE);
	made(GS_COPY_TO_DEVICE, 1, LARGE);
	cuMemcpyAsync_ptsz(HOST, GPU, LARGE, STREAM);
	made(GS_COPY_TO_HOST, 1, LARGE);
	cuMemcpyAsync_ptsz(HOST, PAGEABLE, LARGE, STREAM);
	made(GS_COPY_OTHER, 1, LARGE);
	cuMemcpyAsync_ptsz(HOST, GPU, 4, STREAM);
	made(GS_COPY_OTHER, 1, 4);
	cuMemcpyBatchAsync_v2(dst, src, bytes, 2, NULL, NULL, 0, STREAM);
	assert_int_equal(page->copies.made[GS_COPY_TO_DEVICE].bytes, LARGE);
	assert_int_equal(page->copies.made[GS_COPY_OTHER].bytes, 3);
}

static void planes_and_boxes(void **state)
{
	CUDA_MEMCPY2D plane = { .srcMemoryType = CU_MEMORYTYPE_HOST,
				.dstMemoryType = CU_MEMORYTYPE_DEVICE,
				.WidthInBytes = 100,
				.Height = 7 };
	CUDA_MEMCPY3D box = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			      .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			      .dstDevice = HOST,
			      .WidthInBytes = LARGE,
			      .Height = 3,
			      .Depth = 2 };

	(void)state;
	cuMemcpy2DAsync_v2(&plane, STREAM);
	made(GS_COPY_TO_DEVICE, 1, 700);
	cuMemcpy3D_v2(&box);
	made(GS_COPY_TO_HOST, 1, 6 * LARGE);
}

static void what_failed_is_none(void **state)
{
	int word = 0;

	(void)state;
	answer = CUDA_ERROR_INVALID_VALUE;
	assert_int_equal(cuMemcpyHtoD_v2(GPU, &word, 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyHtoDAsync_v2(GPU, &word, 4, STREAM), CUDA_ERROR_INVALID_VALUE);
	made(GS_COPY_OTHER, 0, 0);
}

static void time_of_those_that_wait(void **state)
{
	int word = 0;

	(void)state;
	takes_ns = 2 * GS_NS_PER_MS;
	cuMemcpyHtoDAsync_v2(GPU, &word, 4, STREAM);
	assert_int_equal(page->copies.made[GS_COPY_TO_DEVICE].host_ns, 0);
	cuMemcpyHtoD_v2(GPU, &word, 4);
	assert_true(page->copies.made[GS_COPY_TO_DEVICE].host_ns >= takes_ns);
}

/* ns for each of n calls; the least of several rounds, as others compute here, too. */
#define PRICE(ns, call) \
	do { \
		ns = 1e9; \
		for (int round_ = 0; round_ < 20; round_++) { \
			uint64_t t0_ = gs_clock_ns(); \
			double is_; \
			for (int i_ = 0; i_ < 10000; i_++) \
				call; \
			is_ = (double)(gs_clock_ns() - t0_) / 10000; \
			ns = is_ < ns ? is_ : ns; \
		} \
	} while (0)

CUresult cuMemcpy3DBatchAsync(void); /* of the calls that copy it alone is only forwarded */

/* Beyond what a call that is only forwarded costs, which passes the driver-call barrier as well. */
static void the_price_of_a_copy(void **state)
{
	double async, sync, before;
	int word = 0;

	(void)state;
	PUT(cuMemcpy3DBatchAsync, fake_copy);
	PRICE(before, cuMemcpy3DBatchAsync());
	PRICE(async, cuMemcpyHtoDAsync_v2(GPU, &word, 4, STREAM));
	PRICE(sync, cuMemcpyHtoD_v2(GPU, &word, 4));
	print_message("ns per call: forwarded %.0f, counted %.0f, counted and timed %.0f\n", before,
		      async, sync);
	assert_true(async - before < 2000 && sync - before < 2000); /* the bar of 100 ns is measured
								       where nothing else runs */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_way, setup),
		cmocka_unit_test_setup(addresses_are_looked_up_if_that_is_worth_it, setup),
		cmocka_unit_test_setup(planes_and_boxes, setup),
		cmocka_unit_test_setup(what_failed_is_none, setup),
		cmocka_unit_test_setup(time_of_those_that_wait, setup),
		cmocka_unit_test_setup(the_price_of_a_copy, setup),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
