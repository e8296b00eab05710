/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every allocation entry of the shim over a driver that grants everything: a
 * hundred times at the limit each, to the byte, and all of it back afterwards.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/wraps.h"
#include "entries_rig.h"

#define TIMES 100

/* A quarter through the entry, the rest through another; then not a byte more, a hundred times. */
static void every_entry_ends_at_the_limit(void **state)
{
	(void)state;
	for (size_t i = 0; i < ndoors; i++) {
		const struct entry *d = &entries[i];
		uint64_t rest = 0, h = 0, more = 0;

		print_message("%s\n", d->name);
		assert_int_equal(entry_linear(48, &rest), CUDA_SUCCESS);
		for (int k = 0; k < TIMES; k++) {
			assert_int_equal(d->alloc(16, &h), CUDA_SUCCESS);
			assert_int_equal(rig.s->used, RESERVATION);
			assert_int_equal(d->alloc(1, &more), CUDA_ERROR_OUT_OF_MEMORY);
			assert_int_equal(cuMemAlloc_v2((CUdeviceptr *)&more, 1),
					 CUDA_ERROR_OUT_OF_MEMORY);
			assert_int_equal(d->free(h), CUDA_SUCCESS);
			shim_pools_settle(
				rig.s,
				0); /* a free alone seldom asks its pool what it has given back */
			assert_int_equal(rig.s->used, 48 * MIB);
			assert_int_equal(d->alloc(17, &h), CUDA_ERROR_OUT_OF_MEMORY);
			assert_int_equal(rig.s->used, 48 * MIB);
		}
		entry_free_pointer(rest);
		assert_int_equal(rig.s->used, 0);
	}
}

/* What the driver refuses is not charged. */
static void refused_by_the_driver(void **state)
{
	(void)state;
	rig.answer = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < ndoors; i++) {
		uint64_t h;

		assert_int_equal(entries[i].alloc(1, &h), CUDA_ERROR_OUT_OF_MEMORY);
		assert_int_equal(rig.s->used, 0);
	}
}

/* Sizes whose product overflows are beyond any reservation. */
static void overflows(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { SIZE_MAX / 2, 7, 9, CU_AD_FORMAT_FLOAT, 4, 0 };
	size_t pitch;
	uint64_t h;

	(void)state;
	assert_int_equal(cuMemAlloc_v2((CUdeviceptr *)&h, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAllocPitch_v2((CUdeviceptr *)&h, &pitch, SIZE_MAX - 1, 4, 4),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAllocPitch_v2((CUdeviceptr *)&h, &pitch, SIZE_MAX / 2, 4, 4),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuArray3DCreate_v2((CUarray *)&h, &d), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMipmappedArrayCreate((CUmipmappedArray *)&h, &d, 9),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, SIZE_MAX / 2),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(rig.s->used, 0);
}

static void what_the_program_is_told(void **state)
{
	size_t left, total;
	uint64_t a;

	(void)state;
	assert_int_equal(entry_linear(14, &a), CUDA_SUCCESS);
	assert_int_equal(cuMemGetInfo_v2(&left, &total), CUDA_SUCCESS);
	assert_int_equal(total, RESERVATION);
	assert_int_equal(left, 50 * MIB);
	/* One of them may be left out. */
	left = total = 0;
	assert_int_equal(cuMemGetInfo_v2(&left, NULL), CUDA_SUCCESS);
	assert_int_equal(left, 50 * MIB);
	assert_int_equal(cuMemGetInfo_v2(NULL, &total), CUDA_SUCCESS);
	assert_int_equal(total, RESERVATION);
	assert_int_equal(cuMemGetInfo_v2(NULL, NULL), CUDA_SUCCESS); /* as the driver says */
	assert_int_equal(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
	assert_int_equal(total, RESERVATION);
	entry_free_pointer(a);
}

static void the_old_entries_are_shut(void **state)
{
	unsigned int p, pitch;
	CUarray a;

	(void)state;
	assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuMemAllocPitch(&p, &pitch, 4, 4, 4), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuArrayCreate(&a, NULL), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuArray3DCreate(&a, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENTRY(every_entry_ends_at_the_limit),
		ENTRY(refused_by_the_driver),
		ENTRY(overflows),
		ENTRY(what_the_program_is_told),
		ENTRY(the_old_entries_are_shut),
	};

	int failures = cmocka_run_group_tests(tests, rig_setup, NULL);

	return failures + memory_kinds() + memory_count();
}
