/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver gets what the program gives, byte for byte; and each way by which a program comes to a
 * kernel leads to what is known of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "modules_rig.h"

/* Where it came from, and what it is: nothing else is passed on, not even a copy. */
static void expect_own(const void *image, const void *options, const void *values, unsigned int n)
{
	assert_ptr_equal(got.image, image);
	assert_int_equal(got.hash, image ? ptx_content(image, strlen(image)) : 0);
	assert_ptr_equal(got.options, options);
	assert_ptr_equal(got.values, values);
	assert_int_equal(got.n, n);
}

static void every_byte_is_passed_on(void **unused)
{
	CUjit_option option = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
	void *value = (void *)(uintptr_t)500;
	char *heap = strdup(ptx);
	const char *const images[] = { ptx, heap, "no module at all" };
	CUlibrary library;
	CUmodule module;

	(void)unused;
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		assert_int_equal(cuModuleLoadDataEx(&module, images[i], 1, &option, &value),
				 CUDA_SUCCESS);
		expect_own(images[i], &option, &value, 1);
		assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
		assert_int_equal(
			cuLibraryLoadData(&library, images[i], &option, &value, 1, NULL, NULL, 0),
			CUDA_SUCCESS);
		expect_own(images[i], &option, &value, 1);
		assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
		memset(&got, 0, sizeof(got));
		assert_int_equal(cuModuleLoadData(&module, images[i]), CUDA_SUCCESS);
		expect_own(images[i], NULL, NULL, 0);
		assert_int_equal(cuModuleLoadFatBinary(&module, images[i]), CUDA_SUCCESS);
		expect_own(images[i], NULL, NULL, 0);
	}
	assert_ptr_equal(value, (void *)(uintptr_t)500);
	free(heap);
}

static void files_are_the_drivers(void **unused)
{
	char path[] = "/tmp/test_shim_modules.XXXXXX";
	int fd = mkstemp(path);
	CUlibrary library;
	CUmodule module;

	(void)unused;
	assert_int_equal(write(fd, ptx, strlen(ptx) + 1), strlen(ptx) + 1);
	close(fd);
	assert_int_equal(cuModuleLoad(&module, path), CUDA_SUCCESS);
	assert_ptr_equal(got.path, path);
	assert_null(got.image);
	/* What was in it is remembered: it may be another one by the time that it is needed. */
	assert_string_equal(shim_module_find(module)->image.at, ptx);
	assert_int_equal(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0),
			 CUDA_SUCCESS);
	assert_string_equal(shim_module_find(library)->image.at, ptx);
	unlink(path);
	assert_int_equal(cuModuleLoad(&module, path), CUDA_SUCCESS);
	assert_null(shim_module_find(module)->image.at);
}

static void the_linkers_input_is_passed_on(void **unused)
{
	CUjit_option option = CU_JIT_LOG_VERBOSE;
	void *value = NULL;

	(void)unused;
	assert_int_equal(cuLinkAddData_v2((CUlinkState)0x900, CU_JIT_INPUT_PTX,
					  (void *)(uintptr_t)ptx, strlen(ptx) + 1, "k", 1, &option,
					  &value),
			 CUDA_SUCCESS);
	got.hash = ptx_content(ptx, strlen(ptx));
	expect_own(ptx, &option, &value, 1);
}

/* ---- kernels, however the program comes to them -------------------------------------- */

static void each_way_leads_to_the_module(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_module *m = shim_module_find(library);
	CUkernel kernel = NULL;
	CUmodule module;

	(void)unused;
	assert_non_null(m);
	assert_int_equal(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
	assert_ptr_equal(kernel_of(module)->code->module, m);
	assert_int_equal(kernel_of(module)->code->reason, PTX_REASON_NOT_BUILT);
	assert_int_equal(cuLibraryEnumerateKernels(&kernel, 1, library), CUDA_SUCCESS);
	assert_ptr_equal(shim_kernel_seen(kernel)->code->module, m);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	/* What the driver gives that handle to next is unknown. */
	assert_null(kernel_of(module)->code->module);
	assert_int_equal(kernel_of(module)->code->reason, PTX_REASON_UNSEEN);
}

/* A function's handle comes again, for another library's kernel. */
static void function_with_the_handle_of_another(void **unused)
{
	CUlibrary library = library_of(ptx), other;
	const struct shim_code *code = code_of(library);

	(void)unused;
	assert_ptr_equal(code_of(library), code);
	other = library_of("no module at all");
	assert_ptr_not_equal(code_of(other), code);
	assert_int_equal(code_of(other)->reason, PTX_REASON_UNREADABLE);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	assert_int_equal(cuLibraryUnload(other), CUDA_SUCCESS);
}

/* A module went with its context, and a library's has its handle. */
static void module_with_the_handle_of_another(void **unused)
{
	CUlibrary library;
	CUmodule module, again;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(kernel_of(module)->code->reason, PTX_REASON_NOT_BUILT);
	next_handle = (uintptr_t)module - 0x1000 - 0x100000;
	library = library_of("no module at all");
	assert_int_equal(cuLibraryGetModule(&again, library), CUDA_SUCCESS);
	assert_ptr_equal(again, module);
	assert_int_equal(kernel_of(again)->code->reason, PTX_REASON_UNREADABLE);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	next_handle = (uintptr_t)module + 0x100000;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_is_passed_on),
		cmocka_unit_test(files_are_the_drivers),
		cmocka_unit_test(the_linkers_input_is_passed_on),
		cmocka_unit_test(each_way_leads_to_the_module),
		cmocka_unit_test(function_with_the_handle_of_another),
		cmocka_unit_test(module_with_the_handle_of_another),
	};

	return cmocka_run_group_tests_name("modules", tests, modules_rig_setup, NULL) +
	       shim_images() + shim_reloads() + shim_forgotten() + shim_settings() + shim_cost();
}
