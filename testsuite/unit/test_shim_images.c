/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the shim remembers of the images that a program loads. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "modules_rig.h"

static void what_may_be_freed_is_copied(void **unused)
{
	char *heap = strdup(ptx);
	struct shim_bytes bytes;
	struct shim_module *m;
	CUmodule module;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	m = shim_module_find(module);
	assert_ptr_equal(m->image.at, ptx);
	assert_null(m->image.own);
	assert_int_equal(cuModuleLoadData(&module, heap), CUDA_SUCCESS);
	memset(heap, 'x', strlen(heap));
	free(heap);
	m = shim_module_find(module);
	assert_ptr_equal(m->image.at, m->image.own);
	bytes = shim_image_read(&m->image);
	assert_string_equal(bytes.data, ptx);
	shim_bytes_drop(&bytes);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	assert_null(m->image.own);
	assert_null(shim_module_find(module));
}

/* The file has been unmapped since: nothing is read, and nobody crashes. */
static void what_is_gone_is_not_read(void **unused)
{
	char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct shim_image image = { .at = mapped, .len = 8192 };
	struct shim_bytes bytes;

	(void)unused;
	bytes = shim_image_read(&image);
	assert_int_equal(bytes.len, 8192);
	shim_bytes_drop(&bytes);
	assert_int_not_equal(shim_image_content(&image), 0);
	munmap(mapped + 4096, 4096);
	bytes = shim_image_read(&image);
	assert_null(bytes.data);
	assert_int_equal(shim_image_content(&image), 0);
	munmap(mapped, 4096);
}

/* No file may be that long, nor may one in memory: that is no reason to end the program. */
static void where_files_are_limited(void **unused)
{
	const struct rlimit limit = { 4096, RLIM_INFINITY };
	struct rlimit was;
	char *heap = calloc(1, 8192);
	CUmodule module;

	(void)unused;
	memset(heap, ' ', 8191);
	memcpy(heap, ptx, strlen(ptx));
	assert_int_equal(cuModuleLoadData(&module, heap), CUDA_SUCCESS);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_null(shim_image_read(&shim_module_find(module)->image).data);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	free(heap);
}

static void what_is_too_large_is_not_copied(void **unused)
{
	size_t len = (size_t)65 << 20;
	struct shim_image image;
	char *heap = malloc(len + 1);

	(void)unused;
	memset(heap, ' ', len);
	heap[len] = '\0';
	memcpy(heap, ptx, strlen(ptx));
	shim_image_keep(&image, heap);
	assert_null(image.at);
	assert_int_equal(image.why, PTX_REASON_LARGE);
	free(heap);
}

int shim_images(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_freed_is_copied),
		cmocka_unit_test(what_is_gone_is_not_read),
		cmocka_unit_test(where_files_are_limited),
		cmocka_unit_test(what_is_too_large_is_not_copied),
	};

	return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
