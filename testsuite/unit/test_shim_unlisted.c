/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that a driver has and the shim's table has not: they are got by address, and wait while
 * a kernel is held. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/base/unlisted.h"
#include "fake_driver.h"
#include "shim_rig.h"

#undef cuGetProcAddress

/* As many words on the stack as are passed on. */
typedef CUresult new_function(long a, long b, long c, long d, long e, long f, float x, double y,
			      long g, long h, long i, long j, long k, long l, long m, long n,
			      long o, long p, long q, long r);

static _Atomic int called, called_newer;

static CUresult fake_new(long a, long b, long c, long d, long e, long f, float x, double y, long g,
			 long h, long i, long j, long k, long l, long m, long n, long o, long p,
			 long q, long r)
{
	const long got[] = { a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r };
	int right = x == 0.5F && y == 0.25;

	for (int at = 0; at < 18; at++)
		right &= got[at] == 1000 + at;
	called += right;
	return CUDA_ERROR_NOT_READY;
}

static CUresult fake_newer(void)
{
	called_newer++;
	return CUDA_SUCCESS;
}

/* More of them, which nobody calls. */
static char more[SHIM_UNLISTED + 1];

/* "cuNew", which has two versions, and functions that are numbers. */
static CUresult fake_address(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	unsigned int n;

	(void)flags;
	*pfn = NULL;
	if (strcmp(symbol, "cuNew") == 0)
		*pfn = version < 14000 ? (void *)(uintptr_t)fake_new :
					 (void *)(uintptr_t)fake_newer;
	else if (strcmp(symbol, "cuStreamGetFlags") == 0 && version >= 14000)
		*pfn = &more[0]; /* a version that the table does not list */
	else if (strcmp(symbol, "cuMemFree") == 0)
		*pfn = &more[1];
	else if (strcmp(symbol, "cuStreamGetFlags") == 0)
		*pfn = shim_real(SHIM_FN_cuStreamGetFlags);
	else if (strcmp(symbol, "cuLaunchKernel") == 0)
		*pfn = shim_real(SHIM_FN_cuLaunchKernel);
	else if (sscanf(symbol, "cuMore%u", &n) == 1)
		*pfn = &more[n];
	return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult fake_address_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
				CUdriverProcAddressQueryResult *status)
{
	CUresult rc = fake_address(symbol, pfn, version, flags);

	if (status)
		*status = rc == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS :
					       CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return status ? CUDA_SUCCESS : rc;
}

static int setup(void **state)
{
	shim_slot[SHIM_FN_cuGetProcAddress] = (void *)(uintptr_t)fake_address;
	shim_slot[SHIM_FN_cuGetProcAddress_v2] = (void *)(uintptr_t)fake_address_v2;
	return shim_rig_setup(state);
}

static void *address(const char *symbol, int version)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	void *v1 = NULL, *v2 = NULL;

	assert_int_equal(cuGetProcAddress_v2(symbol, &v2, version, 0, &found), CUDA_SUCCESS);
	assert_int_equal(found, CU_GET_PROC_ADDRESS_SUCCESS);
	assert_int_equal(cuGetProcAddress(symbol, &v1, version, 0), CUDA_SUCCESS);
	assert_ptr_equal(v1, v2);
	return v2;
}

static CUresult call_new(void)
{
	new_function *f;
	void *p = address("cuNew", 13000);

	memcpy(&f, &p, sizeof(f));
	return f(1000, 1001, 1002, 1003, 1004, 1005, 0.5F, 0.25, 1006, 1007, 1008, 1009, 1010, 1011,
		 1012, 1013, 1014, 1015, 1016, 1017);
}

/* Whatever its arguments are, they come through, and so does what it says. */
static void test_arguments_come_through(void **unused)
{
	(void)unused;
	called = 0;
	assert_int_equal(call_new(), CUDA_ERROR_NOT_READY);
	assert_int_equal(called, 1);
}

static void *call_in_thread(void *done)
{
	call_new();
	*(_Atomic int *)done = 1;
	return NULL;
}

/* While a kernel is held it might block with the driver's lock, which the relaunch needs. */
static void test_unlisted_function_waits(void **unused)
{
	_Atomic int done = 0;
	struct gs_slot *slot;
	pthread_t thread;
	char text[4096];

	(void)unused;
	called = 0;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	pthread_create(&thread, NULL, call_in_thread, &done);
	usleep(30000);
	gs_page_store(slot->state, GS_K_READY); /* it has left; the time slice is ours */
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_call("relaunch-variant", text, sizeof(text));
	usleep(20000);
	assert_int_equal(called, 0);
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	assert_int_equal(called, 1);
}

/* An entry point of its own for each version, and the same one whenever it is asked for. */
static void test_versions_are_told_apart(void **unused)
{
	void *first = address("cuNew", 13000), *second = address("cuNew", 14000);
	CUresult (*newer)(void);

	(void)unused;
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(address("cuNew", 12000), first);
	assert_ptr_equal(address("cuNew", 15000), second);
	memcpy(&newer, &second, sizeof(newer));
	called_newer = 0;
	assert_int_equal(newer(), CUDA_SUCCESS);
	assert_int_equal(called_newer, 1);
}

/* What the table lists is as it was, and what there is not is not there. */
static void test_listed_functions_have_no_entry(void **unused)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	void *p = more;

	(void)unused;
	assert_ptr_equal(address("cuStreamGetFlags", 13000), (void *)(uintptr_t)cuStreamGetFlags);
	assert_ptr_equal(address("cuLaunchKernel", 13000), (void *)(uintptr_t)cuLaunchKernel);
	assert_int_equal(cuGetProcAddress_v2("cuNone", &p, 13000, 0, &found), CUDA_SUCCESS);
	assert_int_equal(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_null(p);
	assert_int_equal(cuGetProcAddress("cuNone", &p, 13000, 0), CUDA_ERROR_NOT_FOUND);
	assert_null(p);
}

/* What may be called while a kernel is held may be in whichever version; what may not, may not. */
static void test_a_new_version_is_as_the_known_one(void **unused)
{
	(void)unused;
	assert_ptr_equal(address("cuStreamGetFlags", 14000), &more[0]);
	assert_ptr_not_equal(address("cuMemFree", 14000), &more[1]);
}

/* More than there are entry points for: the driver's own. */
static void test_entries_run_out(void **unused)
{
	unsigned int entries = 0;
	char symbol[32];
	void *entry[SHIM_UNLISTED + 1];

	(void)unused;
	for (unsigned int i = 0; i < SHIM_UNLISTED + 1; i++) {
		snprintf(symbol, sizeof(symbol), "cuMore%u", i);
		entry[i] = address(symbol, 13000);
		entries += entry[i] != &more[i];
		for (unsigned int k = 0; k < i; k++)
			assert_ptr_not_equal(entry[i], entry[k]);
	}
	assert_in_range(entries, SHIM_UNLISTED - 2, SHIM_UNLISTED);
	assert_ptr_equal(entry[SHIM_UNLISTED], &more[SHIM_UNLISTED]);
	assert_ptr_equal(address("cuMore0", 13000), entry[0]);
	test_versions_are_told_apart(unused);
}

int shim_unlisted(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_arguments_come_through),
		SHIM(test_unlisted_function_waits),
		SHIM(test_versions_are_told_apart),
		SHIM(test_listed_functions_have_no_entry),
		SHIM(test_a_new_version_is_as_the_known_one),
		SHIM(test_entries_run_out),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
