/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules that are loaded again and again, and those that go with their context. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/upcalls.h"
#include "device/shim/context/context.h"
#include "device/shim/variant/variant.h"
#include "modules_rig.h"

static void count(struct shim_kernel *k, void *n)
{
	(void)k;
	++*(size_t *)n;
}

static size_t records(void)
{
	size_t n = 0;

	shim_kernels_each(count, &n);
	return n;
}

static void a_module_that_comes_back_is_known(void **unused)
{
	CUmodule module = module_of(ptx);
	const struct shim_module *m = shim_module_find(module);
	struct shim_kernel *k = kernel_of(module);
	uint32_t number = k->code->number;
	size_t before = records();

	(void)unused;
	for (int i = 0; i < 20000; i++) {
		k->code->build = SHIM_BUILD_OVER; /* of a variant that went with the module */
		unload(module);
		assert_null(k->handle);
		assert_ptr_equal(k->code->module, m);
		assert_true(m->gone);
		module = module_of(ptx);
		assert_ptr_equal(shim_module_find(module), m);
		assert_false(m->gone);
		assert_ptr_equal(kernel_of(module), k);
	}
	assert_int_equal(records(), before);
	assert_int_equal(k->code->number, number);
	assert_int_equal(k->code->build, SHIM_BUILD_NOT);
	assert_int_equal(k->code->reason, PTX_REASON_NOT_BUILT);
	unload(module);
}

/* Each time it has another handle: a kernel has a record in each bucket at most. */
static void a_module_that_comes_back_elsewhere(void **unused)
{
	size_t before = records();

	(void)unused;
	for (int i = 0; i < 20000; i++) {
		CUmodule module = module_of(ptx);

		assert_ptr_equal(kernel_of(module)->original, (uintptr_t)module + 0x10);
		assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	}
	assert_true(records() - before <= 1 << SHIM_BUCKET_BITS);
}

/* Two that are loaded at once are two; and what differs in one character is another one. */
static void what_is_alike_is_not_the_same(void **unused)
{
	char *other = strdup(ptx);
	CUmodule a, b;
	const struct shim_module *m;

	(void)unused;
	strstr(other, "ctaid.x")[strlen("ctaid.")] = 'y';
	a = module_of(ptx);
	b = module_of(ptx);
	assert_ptr_not_equal(kernel_of(a), kernel_of(b));
	assert_ptr_not_equal(kernel_of(a)->code, kernel_of(b)->code);
	m = shim_module_find(b);
	assert_int_equal(cuModuleUnload(a), CUDA_SUCCESS);
	unload(b);
	a = module_of(other);
	assert_ptr_not_equal(shim_module_find(a), m);
	assert_string_equal(shim_module_find(a)->image.at, other);
	unload(a);
	free(other);
}

/* A variant that was begun for the module that is gone may still come. */
static void what_is_being_made_is_not_used_again(void **unused)
{
	CUmodule module = module_of(ptx);
	struct shim_kernel *k = kernel_of(module);

	(void)unused;
	k->code->build = SHIM_BUILD_WANTED;
	unload(module);
	module = module_of(ptx);
	assert_ptr_not_equal(kernel_of(module), k);
	k->code->build = SHIM_BUILD_NOT;
	unload(module);
}

/* A library is not known again, but its records are another one's as soon as no kernel has them. */
static void libraries_do_not_come_back(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_module *m = shim_module_find(library);

	(void)unused;
	m = code_of(library)->module;
	assert_ptr_equal(m, shim_module_find(library));
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	library = library_of(ptx);
	assert_ptr_not_equal(shim_module_find(library), m);
	m = shim_module_find(library);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	library = library_of(ptx);
	assert_ptr_equal(shim_module_find(library), m);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* Neither does one that the driver has refused to unload: its kernels may be launched meanwhile. */
static CUresult refuse(CUlibrary library)
{
	(void)library;
	return CUDA_ERROR_INVALID_HANDLE;
}

static void what_is_not_unloaded_keeps_its_records(void **unused)
{
	CUlibrary library = library_of(ptx);
	struct shim_kernel *k;
	CUkernel kernel;
	void *was = shim_slot[SHIM_FN_cuLibraryUnload];

	(void)unused;
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	k = shim_kernel_find(kernel);
	PUT(cuLibraryUnload, refuse);
	assert_int_equal(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
	assert_null(k->handle);
	assert_ptr_not_equal(shim_kernel_find(kernel), k);
	shim_slot[SHIM_FN_cuLibraryUnload] = was;
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* Programs that compile while they run load something else each time. */
static void others_take_the_records_of_what_is_gone(void **unused)
{
	char *text = strdup(ptx), *digit = strstr(text, ", 4;") + 2;
	struct shim_kernel *k = NULL;
	size_t before = 0;

	(void)unused;
	for (int i = 0; i < 20000; i++) {
		CUlibrary library;
		CUmodule module;

		if (i == 2000)
			before = records();
		*digit = (char)('0' + i % 10);
		module = module_of(text);
		k = kernel_of(module);
		shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, 1)->tracked = 1;
		k->code->facts.blocks = 7;
		assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
		library = library_of(text);
		assert_int_equal(code_of(library)->facts.blocks, 0);
		assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	}
	/* Each has another handle: there is at least one record in each bucket by now. */
	assert_in_range(records(), before, before + (1 << SHIM_BUCKET_BITS));
	free(text);
}

/* Somebody reads names, or a variant is being made, or a launch has not been reported. */
static void what_is_looked_at_stays(void **unused)
{
	CUmodule module;
	struct shim_kernel *k;
	char *other = strdup(ptx);
	size_t before;

	(void)unused;
	strstr(other, "ctaid.x")[strlen("ctaid.")] = 'y';
	for (int i = 0; i < 4; i++) {
		module = module_of(ptx);
		k = kernel_of(module);
		if (i == 1)
			k->code->build = SHIM_BUILD_WANTED;
		if (i == 2)
			shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, 1)->others = 1;
		unload(module);
		if (i == 0)
			shim_kernels_keep();
		before = records();
		module = module_of(other);
		if (i < 3)
			assert_ptr_not_equal(kernel_of(module), k);
		kernel_of(module);
		assert_in_range(records(), before, before + (i < 3));
		if (i == 0)
			shim_kernels_release();
		k->code->build = SHIM_BUILD_NOT;
		shim_kernel_take_untracked(k);
		unload(module);
	}
	free(other);
}

/* The driver unloads them. Meanwhile another thread has got the context's handle and the module's
 * for new ones, which stay. */
static void modules_go_with_their_context(void **unused)
{
	CUcontext ctx = shim_context_handle();
	char *heap = strdup(ptx);
	CUmodule module = module_of(heap), other;
	struct shim_module *m = shim_module_find(module), *fresh;
	struct shim_kernel *k = kernel_of(module), *its;
	CUlibrary library = library_of(ptx);

	(void)unused;
	assert_non_null(m->image.own);
	shim_upcalls->context_ends(ctx, 0);
	assert_ptr_equal(shim_module_find(module), m);
	assert_null(k->handle); /* it may be another function's before the driver returns */
	next_handle = (uintptr_t)module - 0x100000;
	other = module_of(ptx);
	assert_ptr_equal(other, module);
	fresh = shim_module_find(other);
	its = kernel_of(other);
	shim_upcalls->context_ends(ctx, 1);
	assert_null(m->image.own);
	assert_true(m->gone);
	assert_ptr_equal(shim_module_find(other), fresh);
	assert_ptr_equal(kernel_of(other), its);
	assert_non_null(shim_module_find(library));
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	/* As one that the program has unloaded it may come back. */
	next_handle += 0x100000;
	assert_ptr_equal(shim_module_find(module_of(heap)), m);
	free(heap);
}

/* The driver gives its handle to another function, which comes from a list. */
static void functions_of_libraries_go_with_their_context(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_code *code = code_of(library);
	CUcontext ctx = shim_context_handle();
	size_t before = records();
	CUkernel kernel = NULL;

	(void)unused;
	for (int i = 0; i < 100; i++) {
		shim_upcalls->context_ends(ctx, 0);
		shim_upcalls->context_ends(ctx, 1);
		assert_ptr_equal(code_of(library), code);
	}
	assert_int_equal(records(), before);
	shim_upcalls->context_ends(ctx, 0);
	shim_upcalls->context_ends(ctx, 1);
	assert_ptr_not_equal(shim_kernel_find((CUfunction)0x7000)->code, code);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	assert_ptr_equal(shim_kernel_find(kernel)->code, code);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* A thread that has been cancelled gets a function and unloads its module: it ends afterwards. */
static void *cancelled(void *module)
{
	CUmodule is = *(CUmodule *)module;
	CUfunction f;

	pthread_cancel(pthread_self());
	if (cuModuleGetFunction(&f, is, "k") == CUDA_SUCCESS && shim_kernel_find(f) &&
	    cuModuleUnload(is) == CUDA_SUCCESS)
		*(CUmodule *)module = NULL;
	return module;
}

static void who_is_cancelled_does_it_all(void **unused)
{
	CUmodule module = module_of(ptx);
	struct shim_module *m = shim_module_find(module);
	pthread_t thread;

	(void)unused;
	assert_int_equal(pthread_create(&thread, NULL, cancelled, &module), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(module);
	assert_int_equal(m->users, 0);
	next_handle += 0x100000;
}

/* A library is unloaded while another thread destroys a context where its kernel has a variant. */
#define RACES 3000
static struct shim_context gone_with = { .ctx = (CUcontext)0x11, .gone = 1 },
			   stays_there = { .ctx = (CUcontext)0x22 };
static pthread_barrier_t both;

static void *destroyed_meanwhile(void *unused)
{
	for (int i = 0; i < RACES; i++) {
		pthread_barrier_wait(&both);
		shim_variants_ended(gone_with.ctx);
		pthread_barrier_wait(&both);
	}
	return unused;
}

static void add_variant(struct shim_code *code, struct shim_context *c)
{
	struct shim_variant *v = calloc(1, sizeof(*v));

	v->ctx = c;
	v->transform = PTX_TRANSFORM_PERSISTENT;
	shim_variant_add(code, v);
}

static void variants_go_once(void **unused)
{
	CUlibrary library = library_of(ptx);
	struct shim_code *code;
	pthread_t thread;
	CUkernel kernel;

	(void)unused;
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	code = shim_kernel_find(kernel)->code;
	assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, destroyed_meanwhile, NULL), 0);
	for (int i = 0; i < RACES; i++) {
		add_variant(code, &stays_there);
		add_variant(code, &gone_with);
		pthread_barrier_wait(&both);
		shim_variants_unloaded(library);
		pthread_barrier_wait(&both);
		assert_null(code->variants);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_barrier_destroy(&both);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* A thread that has been cancelled sets something on a kernel that the shim does not know, behind
 * the closed barrier, while somebody reads names: it opens the barrier again. */
static CUresult fine(CUfunction f, CUfunc_cache config)
{
	(void)f, (void)config;
	return CUDA_SUCCESS;
}

static void *cancelled_behind_the_barrier(void *ended)
{
	pthread_cancel(pthread_self());
	if (cuFuncSetCacheConfig((CUfunction)0x7770, CU_FUNC_CACHE_PREFER_L1) == CUDA_SUCCESS)
		*(int *)ended = 1;
	return NULL;
}

static void who_is_cancelled_opens_the_barrier(void **unused)
{
	pthread_t thread;
	int ended = 0;

	(void)unused;
	PUT(cuFuncSetCacheConfig, fine);
	shim_kernels_keep();
	assert_int_equal(pthread_create(&thread, NULL, cancelled_behind_the_barrier, &ended), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	shim_kernels_release();
	assert_int_equal(ended, 1);
}

int shim_reloads(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_that_comes_back_is_known),
		cmocka_unit_test(a_module_that_comes_back_elsewhere),
		cmocka_unit_test(what_is_alike_is_not_the_same),
		cmocka_unit_test(what_is_being_made_is_not_used_again),
		cmocka_unit_test(libraries_do_not_come_back),
		cmocka_unit_test(what_is_not_unloaded_keeps_its_records),
		cmocka_unit_test(others_take_the_records_of_what_is_gone),
		cmocka_unit_test(what_is_looked_at_stays),
		cmocka_unit_test(modules_go_with_their_context),
		cmocka_unit_test(functions_of_libraries_go_with_their_context),
		cmocka_unit_test(who_is_cancelled_does_it_all),
		cmocka_unit_test(who_is_cancelled_opens_the_barrier),
		cmocka_unit_test(variants_go_once),
	};

	return cmocka_run_group_tests_name("reloads", tests, NULL, NULL);
}
