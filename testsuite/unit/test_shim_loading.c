/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may load a library's kernel in a context waits for a held kernel; what comes after it does
 * not. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/kernel/kernels.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/base/wraps.h"
#include "fake_driver.h"
#include "shim_libraries.h"
#include "shim_rig.h"

static int is_eager;

/* ---- the calls ------------------------------------------------------------------ */

static void get_module(CUlibrary library, CUkernel of)
{
	CUmodule module;

	(void)of;
	assert_int_equal(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
}

static void get_global(CUlibrary library, CUkernel of)
{
	CUdeviceptr p;
	size_t n;

	(void)of;
	assert_int_equal(cuLibraryGetGlobal(&p, &n, library, "g"), CUDA_SUCCESS);
}

static void get_managed(CUlibrary library, CUkernel of)
{
	CUdeviceptr p;
	size_t n;

	(void)of;
	assert_int_equal(cuLibraryGetManaged(&p, &n, library, "m"), CUDA_SUCCESS);
}

static void request_occupancy(CUlibrary library, CUkernel of)
{
	int blocks;

	(void)library;
	assert_int_equal(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
				 &blocks, (CUfunction)(uintptr_t)of, 32, 0, 0),
			 CUDA_SUCCESS);
}

static void request_parameters(CUlibrary library, CUkernel of)
{
	size_t n;

	(void)library;
	assert_int_equal(cuKernelGetParamInfo(of, 0, &n, &n), CUDA_SUCCESS);
}

static void make_node(CUlibrary library, CUkernel of)
{
	CUDA_KERNEL_NODE_PARAMS p = { .kern = of };
	CUgraphNode node;

	(void)library;
	assert_int_equal(cuGraphAddKernelNode_v2(&node, NULL, NULL, 0, &p), CUDA_SUCCESS);
}

static void make_any_node(CUlibrary library, CUkernel of)
{
	struct shim_node_params p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
	CUgraphNode node;

	(void)library;
	p.is.kernel.kern = of;
	assert_int_equal(cuGraphAddNode(&node, NULL, NULL, 0, &p), CUDA_SUCCESS);
}

static void change_node(CUlibrary library, CUkernel of)
{
	CUDA_KERNEL_NODE_PARAMS p = { .kern = of };

	(void)library;
	assert_int_equal(cuGraphKernelNodeSetParams_v2(NULL, &p), CUDA_SUCCESS);
}

static void change_graph(CUlibrary library, CUkernel of)
{
	CUDA_KERNEL_NODE_PARAMS p = { .kern = of };

	(void)library;
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(FAKE_GRAPH, NULL, &p), CUDA_SUCCESS);
}

static const call_fn of_kernels[] = {
	get_function,  request_occupancy, request_parameters, make_node,
	make_any_node, change_node,       change_graph,       launch_it,
};
static const call_fn of_libraries[] = { get_global, get_managed, get_module };
#define KERNELS (sizeof(of_kernels) / sizeof(of_kernels[0]))
#define LIBRARIES (sizeof(of_libraries) / sizeof(of_libraries[0]))

/* The second one may wait in the driver as the first one does. */
static void test_each_kernel_waits_once(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < KERNELS; i++) {
		CUkernel one, two;
		CUlibrary library = load(&one, &two);

		expect_wait(of_kernels[i], library, one);
		expect_pass(of_kernels[i], library, one);
		expect_pass(of_kernels[(i + 1) % KERNELS], library, one);
		expect_wait(of_kernels[(i + 1) % KERNELS], library, two);
		expect_pass(get_global, library, two);
	}
}

static void test_a_librarys_variables_wait_once(void **unused)
{
	CUkernel one;

	(void)unused;
	for (size_t i = 0; i < LIBRARIES; i++) {
		CUlibrary library = load(&one, NULL);

		expect_wait(of_libraries[i], library, one);
		expect_pass(of_libraries[i], library, one);
	}
}

/*
 * What is held may wait itself for what the program does after the call, which would not wait
 * without us: it is kept on the GPU then, and the call goes on.
 */
static void test_a_later_kernel_does_not_wait_for_ever(void **unused)
{
	CUkernel one, two;
	CUlibrary library = load(&one, &two);
	struct gs_slot *slot;
	uint64_t from;

	(void)unused;
	expect_wait(launch_it, library, one);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	assert_true(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE);
	from = gs_clock_ns();
	inside = 0;
	launch_it(library, two);
	assert_int_equal(inside, 1);
	assert_in_range(gs_clock_ns() - from, GS_NS_PER_S, 20 * GS_NS_PER_S);
	assert_false(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	finish_all();
	EVENTUALLY(all_prepared());
}

/* By its module every function can be had. */
static void test_with_its_module_all_of_a_library_comes(void **unused)
{
	CUkernel one, two;
	CUlibrary library = load(&one, &two);

	(void)unused;
	expect_wait(get_global, library, one);
	expect_wait(get_module, library, one);
	expect_pass(launch_it, library, one);
	expect_pass(get_function, library, two);
}

/* What could wait for another one of its kernels, which is held. */
static void test_a_library_with_variants_comes_whole(void **unused)
{
	CUkernel one, two;
	CUlibrary library = load_text(shim_rig_ptx, &one, &two);

	(void)unused;
	shim_module_find(library)->whole = 1;
	expect_wait(launch_it, library, one);
	expect_pass(launch_it, library, two);
	expect_pass(get_function, library, two);
	expect_pass(get_module, library, two);
}

static CUresult fake_no_second(CUfunction *f, CUkernel of)
{
	return ((uintptr_t)of & 0xf00) == 0x200 ? CUDA_ERROR_NO_BINARY_FOR_GPU :
						  fake_function(f, of);
}

/* One of its kernels that is not for this GPU is nobody else's trouble. */
static void test_of_a_whole_library_what_can_be_loaded_is(void **unused)
{
	CUkernel one;
	CUlibrary library = load_text(shim_rig_ptx, &one, NULL);

	(void)unused;
	shim_module_find(library)->whole = 1;
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_no_second;
	expect_wait(launch_it, library, one);
	expect_pass(launch_it, library, one);
	expect_pass(get_module, library, one);
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_function;
}

static unsigned int functions_loaded;

static unsigned int functions = 3;

static CUresult fake_function_count(unsigned int *n, CUmodule module)
{
	(void)module;
	*n = functions;
	return CUDA_SUCCESS;
}

static CUresult fake_load_function(CUfunction f)
{
	(void)f;
	functions_loaded++;
	return CUDA_SUCCESS;
}

static void test_a_module_comes_whole(void **unused)
{
	CUmodule module;

	(void)unused;
	shim_slot[SHIM_FN_cuModuleGetFunctionCount] = (void *)(uintptr_t)fake_function_count;
	shim_slot[SHIM_FN_cuFuncLoad] = (void *)(uintptr_t)fake_load_function;
	assert_int_equal(cuModuleLoadData(&module, shim_rig_ptx), CUDA_SUCCESS);
	assert_int_equal(functions_loaded, is_eager ? 0 : 3);
}

/* What is in a capture goes out as it is, but not without its library. */
static void test_a_captured_launch_waits(void **unused)
{
	CUkernel one;
	CUlibrary library = load(&one, NULL);

	(void)unused;
	assert_int_equal(cuStreamBeginCapture_v2(OTHER, CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_SUCCESS);
	is_captured = 1;
	relaxed = strict = 0;
	expect_wait(launch_it, library, one);
	assert_int_equal(
		relaxed,
		2); /* the barrier asks about events, which would end a capture; and it is loaded */
	assert_int_equal(strict, 2);
	expect_pass(launch_it, library, one);
	assert_int_equal(relaxed, 2);
	is_captured = 0;
}

static CUmodule large;

static void get_by_name(CUlibrary library, CUkernel of)
{
	CUfunction f;

	(void)library, (void)of;
	assert_int_equal(cuModuleGetFunction(&f, large, "k"), CUDA_SUCCESS);
	inside = 1;
}

static void get_attribute(CUlibrary library, CUkernel of)
{
	int value;

	(void)library;
	assert_int_equal(
		cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)(uintptr_t)of),
		CUDA_SUCCESS);
	inside = 1;
}

/* Of a module with many functions each is loaded as the program comes to it: by name, or by a
 * list. */
static void test_a_large_module_comes_by_and_by(void **unused)
{
	const CUkernel listed = (CUkernel)0x77770;
	struct shim_module *m;

	(void)unused;
	shim_slot[SHIM_FN_cuModuleGetFunctionCount] = (void *)(uintptr_t)fake_function_count;
	shim_slot[SHIM_FN_cuFuncLoad] = (void *)(uintptr_t)fake_load_function;
	functions = 33;
	functions_loaded = 0;
	assert_int_equal(cuModuleLoadData(&large, shim_rig_ptx), CUDA_SUCCESS);
	functions = 3;
	assert_int_equal(functions_loaded, 0);
	m = shim_module_find(large);
	assert_false(m->loaded);
	expect_wait(get_by_name, NULL, NULL);
	assert_int_equal(functions_loaded, 0); /* the driver has done it */
	shim_kernel_add(large, 0, listed, "listed");
	expect_wait(get_attribute, NULL, listed);
	/* One of its kernels has been launched and has a variant by now: the rest comes as well. */
	assert_int_equal(functions_loaded, 1 + 3);
	assert_true(m->loaded);
	expect_pass(get_attribute, NULL, listed);
}

static void test_an_unloaded_library_is_gone(void **unused)
{
	CUkernel one;
	CUlibrary library = load(&one, NULL);

	(void)unused;
	for (int i = 0; i < 2; i++) {
		call_fn fn = i ? launch_it : get_function;

		expect_wait(fn, library, one);
		expect_pass(fn, library, one);
		assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
		/* Another one with its handle, and with the handles of its kernels. */
		next_library -= 0x10000;
		assert_ptr_equal(load(&one, NULL), library);
		expect_wait(fn, library, one);
		expect_pass(fn, library, one);
		library = load(&one, NULL);
	}
}

static unsigned int in_context; /* which of two is current */

static CUresult fake_current(CUcontext *ctx)
{
	*ctx = (CUcontext)(uintptr_t)(0x9990 + in_context);
	return CUDA_SUCCESS;
}

/* A program may go to and fro. */
static void test_of_two_contexts_both_are_remembered(void **unused)
{
	void *was = shim_slot[SHIM_FN_cuCtxGetCurrent];
	CUkernel one;
	CUlibrary library = load(&one, NULL);

	(void)unused;
	shim_slot[SHIM_FN_cuCtxGetCurrent] = (void *)(uintptr_t)fake_current;
	for (int again = 0; again < 2; again++)
		for (in_context = 0; in_context < 2; in_context++) {
			struct shim_load l;

			shim_load_enter(&l, one, NULL);
			assert_int_equal(l.in_barrier, !again);
			shim_load_leave(&l, CUDA_SUCCESS);
		}
	shim_slot[SHIM_FN_cuCtxGetCurrent] = was;
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

static void test_each_context_has_its_own(void **unused)
{
	CUkernel one;
	CUlibrary library = load(&one, NULL);
	CUcontext ctx = NULL;

	(void)unused;
	expect_wait(get_function, library, one);
	fake_driver_renew();
	expect_wait(get_function, library, one);
	expect_pass(get_function, library, one);
	/* Destroyed, and its handle is another's. */
	assert_int_equal(cuCtxGetCurrent(&ctx), CUDA_SUCCESS);
	assert_int_equal(cuCtxDestroy_v2(ctx), CUDA_SUCCESS);
	expect_wait(get_function, library, one);
}

/* A call that fails has put nothing there, as far as is known. */
static CUresult fake_refusal(CUfunction *f, CUkernel of)
{
	(void)f, (void)of;
	inside++;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static void refused(CUlibrary library, CUkernel of)
{
	CUfunction f;

	(void)library;
	assert_int_equal(cuKernelGetFunction(&f, of), CUDA_ERROR_OUT_OF_MEMORY);
}

static void refused_launch(CUlibrary library, CUkernel of)
{
	(void)library;
	assert_int_equal(launch_in((CUfunction)(uintptr_t)of, 1, OTHER), CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_what_fails_waits_again(void **unused)
{
	CUkernel one, two;
	CUlibrary library = load(&one, NULL), with_variants = load_text(shim_rig_ptx, &two, NULL);

	(void)unused;
	shim_module_find(with_variants)->whole = 1;
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_refusal;
	expect_wait(refused, library, one);
	expect_wait(refused, library, one);
	expect_wait(refused_launch, library, one);
	expect_wait(refused_launch, with_variants, two);
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_function;
	expect_wait(launch_it, library, one);
	expect_pass(launch_it, library, one);
	expect_wait(launch_it, with_variants, two);
	expect_pass(launch_it, with_variants, two);
}

/* A function is there with its module; what is no kernel at all is the driver's to refuse. */
static void test_nothing_else_waits(void **unused)
{
	CUkernel one;
	CUlibrary library = load(&one, NULL);

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	request_occupancy(NULL, (CUkernel)0x5550);
	request_occupancy(NULL, NULL);
	assert_int_equal(cuGraphAddKernelNode_v2(NULL, NULL, NULL, 0, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	finish_all();
	EVENTUALLY(all_prepared());
	/* Nor does anything where the driver loads eagerly, as the program may ask. */
	if (is_eager)
		for (size_t i = 0; i < KERNELS; i++)
			expect_pass(of_kernels[i], library, one);
}

static int setup(void **state)
{
	shim_rig_setup(state);
	shim_libraries_setup();
	return 0;
}

static int eagerly(void **state)
{
	is_eager = 1;
	fake_driver_loads_eagerly();
	return setup(state);
}

int main(void)
{
	const struct CMUnitTest lazy[] = {
		SHIM(test_each_kernel_waits_once),
		SHIM(test_a_later_kernel_does_not_wait_for_ever),
		SHIM(test_a_librarys_variables_wait_once),
		SHIM(test_with_its_module_all_of_a_library_comes),
		SHIM(test_a_library_with_variants_comes_whole),
		SHIM(test_of_a_whole_library_what_can_be_loaded_is),
		SHIM(test_a_module_comes_whole),
		SHIM(test_a_large_module_comes_by_and_by),
		SHIM(test_an_unloaded_library_is_gone),
		SHIM(test_what_fails_waits_again),
		SHIM(test_of_two_contexts_both_are_remembered),
		SHIM(test_nothing_else_waits),
		SHIM(test_a_captured_launch_waits),
		SHIM(test_each_context_has_its_own),
	};
	const struct CMUnitTest eager[] = {
		SHIM(test_nothing_else_waits),
		SHIM(test_a_module_comes_whole),
	};
	pid_t child = fork();
	int failed = 1;

	/* The mode is a process's for good. */
	if (child == 0)
		exit(cmocka_run_group_tests_name("eager", eager, eagerly, NULL));
	waitpid(child, &failed, 0);
	failed |= cmocka_run_group_tests_name("lazy", lazy, setup, NULL);
	return shim_functions() || failed;
}
