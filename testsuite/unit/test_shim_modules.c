/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways by which a program comes to a kernel: each leads to its variant. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/kernels.h"
#include "device/shim/session.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"
#include "fake_driver.h"
#include "test_shim_modules.h"

extern void *shim_slot[SHIM_FN_COUNT];

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			  ".visible .entry k(.param .u64 p)\n{\n"
			  "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
			  "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n"
			  "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
			  "\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n";

/* ---- a driver whose libraries and modules are numbers, as are their kernels ---- */

static uintptr_t next_handle = 0x10000;
static const void *last_image;
static CUresult refusal; /* what the transformed text gets */
static uintptr_t room; /* the last load's first option's value, for what the compiler says; it says
			  nothing */
static int functions_of_variants;

static CUresult load(uintptr_t *handle, const void *image)
{
	last_image = image;
	if (refusal != CUDA_SUCCESS && strstr(image, PTX_PERSISTENT_SUFFIX))
		return refusal;
	*handle = next_handle += 0x100000;
	return CUDA_SUCCESS;
}

static void say_nothing(unsigned int n, void **values)
{
	if (!n)
		return;
	room = (uintptr_t)values[0];
	values[0] = NULL;
}

static CUresult fake_library(CUlibrary *library, const void *code, CUjit_option *jit,
			     void **jit_values, unsigned int njit, CUlibraryOption *options,
			     void **values, unsigned int n)
{
	(void)jit, (void)options, (void)values, (void)n;
	say_nothing(njit, jit_values);
	return load((uintptr_t *)library, code);
}

static CUresult fake_module(CUmodule *module, const void *image, unsigned int n,
			    CUjit_option *options, void **values)
{
	(void)options;
	say_nothing(n, values);
	return load((uintptr_t *)module, image);
}

static CUresult fake_library_module(CUmodule *module, CUlibrary library)
{
	*module = (CUmodule)((uintptr_t)library + 0x1000);
	return CUDA_SUCCESS;
}

/* The original at +0x10, its persistent variant at +0x20, its guarded one at +0x50. */
static CUresult fake_function(CUfunction *f, CUmodule module, const char *name)
{
	int variant = strstr(name, PTX_PERSISTENT_SUFFIX) != NULL;

	functions_of_variants += variant;
	*f = (CUfunction)((uintptr_t)module + (variant                          ? 0x20 :
					       strstr(name, PTX_GUARDED_SUFFIX) ? 0x50 :
										  0x10));
	return CUDA_SUCCESS;
}

/* The original's kernel at +0x30, its variant at +0x40; each context's functions have the numbers
 * of the last one's. */
static CUresult fake_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	*kernel = (CUkernel)((uintptr_t)library +
			     (strstr(name, PTX_PERSISTENT_SUFFIX) ? 0x40 : 0x30));
	return CUDA_SUCCESS;
}

static uintptr_t variants_function = 0x7100;

static CUresult fake_kernel_function(CUfunction *f, CUkernel kernel)
{
	*f = (CUfunction)((uintptr_t)kernel & 0x40 ? variants_function : 0x7000);
	return CUDA_SUCCESS;
}

/* A linker whose machine code is made of nothing but a header. */
static Elf64_Ehdr cubin = { .e_ident = ELFMAG, .e_machine = 190 };
static int variants_added, originals_added;

static CUresult fake_add(CUlinkState state, CUjitInputType type, void *data, size_t size,
			 const char *name, unsigned int n, CUjit_option *options, void **values)
{
	int variants =
		memmem(data, size, PTX_PERSISTENT_SUFFIX, strlen(PTX_PERSISTENT_SUFFIX)) != NULL;

	(void)state, (void)type, (void)name, (void)n, (void)options, (void)values;
	if (variants && refusal != CUDA_SUCCESS)
		return refusal;
	variants_added += variants;
	originals_added += !variants;
	return CUDA_SUCCESS;
}

static CUresult fake_complete(CUlinkState state, void **image, size_t *size)
{
	(void)state;
	cubin.e_entry++;
	*image = &cubin;
	*size = sizeof(cubin);
	return CUDA_SUCCESS;
}

static int setup(void **unused)
{
	(void)unused;
	fake_driver_install();
	shim_slot[SHIM_FN_cuLibraryLoadData] = (void *)(uintptr_t)fake_library;
	shim_slot[SHIM_FN_cuModuleLoadDataEx] = (void *)(uintptr_t)fake_module;
	shim_slot[SHIM_FN_cuLibraryGetModule] = (void *)(uintptr_t)fake_library_module;
	shim_slot[SHIM_FN_cuModuleGetFunction] = (void *)(uintptr_t)fake_function;
	shim_slot[SHIM_FN_cuLibraryGetKernel] = (void *)(uintptr_t)fake_kernel;
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_kernel_function;
	shim_slot[SHIM_FN_cuLinkAddData_v2] = (void *)(uintptr_t)fake_add;
	shim_slot[SHIM_FN_cuLinkComplete] = (void *)(uintptr_t)fake_complete;
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	return 0;
}

static CUlibrary library_of(const char *text)
{
	CUlibrary library = NULL;

	assert_int_equal(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0),
			 CUDA_SUCCESS);
	return library;
}

static const struct shim_kernel *kernel_of(CUmodule module)
{
	CUfunction f = NULL;

	assert_int_equal(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
	return shim_kernel_find(f);
}

/* A library's kernel by way of its module. */
static void module_of_a_library(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_kernel *k;
	CUmodule module;

	(void)unused;
	for (int times = 0; times < 2; times++) {
		assert_int_equal(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
		k = kernel_of(module);
		assert_int_equal(k->transform, PTX_TRANSFORM_PERSISTENT);
		assert_ptr_equal(k->variant, (uintptr_t)module + 0x20);
		assert_int_equal(k->nparam, 1);
	}
	/* Its description goes with the library: what the driver gives that handle to next is
	 * unknown. */
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	functions_of_variants = 0;
	kernel_of(module);
	assert_int_equal(functions_of_variants, 0);
}

/* Nor has a module a description whose library was loaded as it is. */
static void module_of_an_unknown_library(void **unused)
{
	CUlibrary library;
	CUmodule module;

	(void)unused;
	refusal = CUDA_ERROR_INVALID_PTX;
	library = library_of(ptx);
	refusal = CUDA_SUCCESS;
	assert_int_equal(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
	assert_int_equal(kernel_of(module)->transform, PTX_TRANSFORM_AS_IS);
	assert_int_equal(kernel_of(module)->reason, PTX_REASON_REFUSED);
	assert_null(kernel_of(module)->variant);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	/* What nobody has seen being loaded has no reason but that. */
	assert_int_equal(kernel_of((CUmodule)0x5550000)->reason, PTX_REASON_UNSEEN);
}

static const struct shim_kernel *function_of(CUlibrary library)
{
	CUkernel kernel = NULL;
	CUfunction f = NULL;

	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	assert_int_equal(cuKernelGetFunction(&f, kernel), CUDA_SUCCESS);
	return shim_kernel_find(f);
}

/* A function's number comes again: in another context, with another variant; of another library,
 * without one. */
static void function_with_the_number_of_another(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_kernel *k;

	(void)unused;
	k = function_of(library);
	assert_ptr_equal(k->variant, variants_function);
	assert_ptr_equal(function_of(library), k);
	variants_function += 0x100;
	assert_ptr_equal(function_of(library)->variant, variants_function);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	refusal = CUDA_ERROR_INVALID_PTX;
	library = library_of(ptx);
	refusal = CUDA_SUCCESS;
	assert_null(function_of(library)->variant);
	assert_int_equal(function_of(library)->transform, PTX_TRANSFORM_AS_IS);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* A module went with its context, and a library's that was loaded as it is has its number. */
static void module_with_the_number_of_another(void **unused)
{
	CUlibrary library;
	CUmodule module, again;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_non_null(kernel_of(module)->variant);
	next_handle = (uintptr_t)module - 0x1000 -
		      0x100000; /* so that the library's module has the same number */
	refusal = CUDA_ERROR_INVALID_PTX;
	library = library_of(ptx);
	refusal = CUDA_SUCCESS;
	assert_int_equal(cuLibraryGetModule(&again, library), CUDA_SUCCESS);
	assert_ptr_equal(again, module);
	assert_null(kernel_of(again)->variant);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	/* A module of the program's own that is loaded as it is, the same. */
	next_handle = (uintptr_t)module - 0x100000;
	refusal = CUDA_ERROR_INVALID_PTX;
	assert_int_equal(cuModuleLoadData(&again, ptx), CUDA_SUCCESS);
	refusal = CUDA_SUCCESS;
	assert_ptr_equal(again, module);
	assert_null(kernel_of(again)->variant);
	assert_int_equal(cuModuleUnload(again), CUDA_SUCCESS);
	next_handle = (uintptr_t)module + 0x100000;
}

/* A module whose variants are in it already: the program's own image, and its variants found. */
static void variants_made_beforehand(void **unused)
{
	struct gs_error err;
	struct ptx_transformed *t = ptx_transform_only(
		ptx, sizeof(ptx) - 1, PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT), 0, &err);
	CUmodule module;

	(void)unused;
	assert_non_null(t);
	assert_int_equal(cuModuleLoadData(&module, t->text), CUDA_SUCCESS);
	assert_ptr_equal(last_image, t->text);
	assert_ptr_equal(kernel_of(module)->variant, (uintptr_t)module + 0x20);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	ptx_transformed_free(t);
}

/* Warps that leave before a barrier: a guarded variant, and the report says why not a better one.
 */
static void warps_leave(void **unused)
{
	static const char leaves[] =
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k(.param .u64 p)\n{\n\t.reg .pred %q;\n\t.reg .b32 %r<2>;\n"
		"\tmov.u32 %r1, %tid.x;\n\tsetp.ge.u32 %q, %r1, 64;\n\t@%q ret;\n\tbar.sync 0;\n\tret;\n}\n";
	CUmodule module;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, leaves), CUDA_SUCCESS);
	assert_ptr_not_equal(last_image, leaves);
	assert_ptr_equal(kernel_of(module)->variant, (uintptr_t)module + 0x50);
	assert_int_equal(kernel_of(module)->transform, PTX_TRANSFORM_GUARDED);
	assert_int_equal(kernel_of(module)->reason, PTX_REASON_BARRIER_AFTER_EXIT);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
}

/* The program's own text, the second attempt, has as much room for the compiler's words as the
 * first. */
static void room_for_words(void **unused)
{
	CUjit_option option = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
	void *value = (void *)(uintptr_t)500;
	CUlibrary library;
	CUmodule module;

	(void)unused;
	refusal = CUDA_ERROR_INVALID_PTX;
	assert_int_equal(cuModuleLoadDataEx(&module, ptx, 1, &option, &value), CUDA_SUCCESS);
	assert_ptr_equal(last_image, ptx);
	assert_int_equal(room, 500);
	assert_null(value);
	value = (void *)(uintptr_t)600;
	assert_int_equal(cuLibraryLoadData(&library, ptx, &option, &value, 1, NULL, NULL, 0),
			 CUDA_SUCCESS);
	assert_int_equal(room, 600);
	refusal = CUDA_SUCCESS;
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* Each call adds up the handles that it is for. */
static uintptr_t set_on;

static CUresult fake_set_attribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	(void)attribute, (void)value;
	set_on += (uintptr_t)f;
	return CUDA_SUCCESS;
}

static CUresult fake_set_cache(CUfunction f, CUfunc_cache config)
{
	(void)config;
	set_on += (uintptr_t)f;
	return CUDA_SUCCESS;
}

static CUresult fake_set_kernels_attribute(CUfunction_attribute attribute, int value,
					   CUkernel kernel, CUdevice device)
{
	(void)attribute, (void)value, (void)device;
	set_on += (uintptr_t)kernel;
	return CUDA_SUCCESS;
}

static CUresult fake_set_kernels_cache(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	(void)config, (void)device;
	set_on += (uintptr_t)kernel;
	return CUDA_SUCCESS;
}

static uintptr_t what_was_set(void)
{
	uintptr_t on = set_on;

	set_on = 0;
	return on;
}

/* What is set on a kernel is set on its variant. */
static void set_on_both(void **unused)
{
	CUlibrary library = library_of(ptx);
	CUkernel kernel = NULL;
	CUfunction f = NULL;
	CUmodule module;

	(void)unused;
	shim_slot[SHIM_FN_cuFuncSetAttribute] = (void *)(uintptr_t)fake_set_attribute;
	shim_slot[SHIM_FN_cuFuncSetCacheConfig] = (void *)(uintptr_t)fake_set_cache;
	shim_slot[SHIM_FN_cuKernelSetAttribute] = (void *)(uintptr_t)fake_set_kernels_attribute;
	shim_slot[SHIM_FN_cuKernelSetCacheConfig] = (void *)(uintptr_t)fake_set_kernels_cache;
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	assert_int_equal(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1),
			 CUDA_SUCCESS);
	assert_int_equal(what_was_set(), 2 * (uintptr_t)module + 0x30);
	assert_int_equal(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
	assert_int_equal(what_was_set(), 2 * (uintptr_t)module + 0x30);
	assert_int_equal(
		cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1, kernel, 0),
		CUDA_SUCCESS);
	assert_int_equal(what_was_set(), 2 * (uintptr_t)library + 0x70);
	assert_int_equal(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0), CUDA_SUCCESS);
	assert_int_equal(what_was_set(), 2 * (uintptr_t)library + 0x70);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* What templates make of a name; the driver has it, and the variant's, whatever their length. */
static void long_name(void **unused)
{
	static char name[5000], text[2 * sizeof(name)];
	const char *behind = strstr(ptx, "k(") + 1;
	CUfunction f = NULL;
	CUmodule module;

	(void)unused;
	memset(name, 'k', sizeof(name) - 1);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(strstr(ptx, "k(") - ptx), ptx, name, behind);
	assert_int_equal(cuModuleLoadData(&module, text), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&f, module, name), CUDA_SUCCESS);
	assert_int_equal(shim_kernel_find(f)->transform, PTX_TRANSFORM_PERSISTENT);
	assert_ptr_equal(shim_kernel_find(f)->variant, (uintptr_t)module + 0x20);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
}

static const struct shim_kernel *loaded(const void *image)
{
	CUmodule module;

	assert_int_equal(cuModuleLoadData(&module, image), CUDA_SUCCESS);
	assert_ptr_equal(last_image, image);
	return kernel_of(module);
}

/* PTX that is linked at run time: its variants are known in the machine code, and in a copy of
 * that. */
static void linked(void **unused)
{
	CUlinkState state = (CUlinkState)0x900;
	Elf64_Ehdr copy, other;
	void *image;
	size_t size;

	(void)unused;
	variants_added = originals_added = 0;
	assert_int_equal(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx,
					  sizeof(ptx), "k", 0, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(cuLinkAddData_v2(state, CU_JIT_INPUT_OBJECT, (void *)(uintptr_t)ptx,
					  sizeof(ptx), "o", 0, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(variants_added, 1);
	assert_int_equal(originals_added, 1);
	assert_int_equal(cuLinkComplete(state, &image, &size), CUDA_SUCCESS);
	assert_int_equal(size, sizeof(cubin));
	memcpy(&copy, image, size);
	assert_int_equal(loaded(image)->transform, PTX_TRANSFORM_PERSISTENT);
	assert_non_null(loaded(image)->variant);
	assert_int_equal(cuLinkDestroy(state), CUDA_SUCCESS);
	assert_non_null(loaded(&copy)->variant);
	other = copy;
	other.e_flags ^= 1;
	assert_null(loaded(&other)->variant);
}

/* The linker does not take the variants: it gets the program's own text, and that is all that is
 * known. */
static void link_refused(void **unused)
{
	CUlinkState state = (CUlinkState)0x910;
	void *image;
	size_t size;

	(void)unused;
	variants_added = originals_added = 0;
	refusal = CUDA_ERROR_INVALID_PTX;
	assert_int_equal(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx,
					  sizeof(ptx), "k", 0, NULL, NULL),
			 CUDA_SUCCESS);
	refusal = CUDA_SUCCESS;
	assert_int_equal(originals_added, 1);
	assert_int_equal(cuLinkComplete(state, &image, &size), CUDA_SUCCESS);
	assert_null(loaded(image)->variant);
	assert_int_equal(cuLinkDestroy(state), CUDA_SUCCESS);
}

/* The C library calls it, as a library would that has CUDA code: lfind(key, base, n, size, compare)
 * compares so. */
static const struct shim_kernel *loaded_by_a_library(const void *image)
{
	CUmodule module = NULL;
	size_t one = 1;

	last_image = NULL;
	lfind(&module, image, &one, 1,
	      (int (*)(const void *, const void *))(uintptr_t)cuModuleLoadData);
	assert_ptr_equal(last_image, image);
	return kernel_of(module);
}

static CUmodule module_of_function;

static CUresult fake_module_of(CUmodule *module, CUfunction f)
{
	(void)f;
	*module = module_of_function;
	return CUDA_SUCCESS;
}

/* What is not the program's own goes to the driver as it is, byte for byte. */
static void of_a_library(void **unused)
{
	void *library = dlsym(RTLD_DEFAULT, "qsort"); /* it has no PTX in it, but who looks? */
	CUlinkState state = (CUlinkState)0x920;
	char *heap = strdup(ptx);
	CUmodule module;

	(void)unused;
	functions_of_variants = 0;
	assert_int_equal(loaded_by_a_library(heap)->reason, PTX_REASON_LIBRARY);
	assert_int_equal(loaded_by_a_library(heap)->transform, PTX_TRANSFORM_AS_IS);
	assert_int_equal(loaded(library)->reason, PTX_REASON_LIBRARY);
	assert_int_equal(functions_of_variants, 0);
	assert_int_equal(
		cuLibraryLoadData((CUlibrary *)&module, library, NULL, NULL, 0, NULL, NULL, 0),
		CUDA_SUCCESS);
	assert_ptr_equal(last_image, library);
	assert_int_equal(function_of((CUlibrary)module)->reason, PTX_REASON_LIBRARY);
	variants_added = originals_added = 0;
	assert_int_equal(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, library, 16, "k", 0, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(originals_added, 1);
	/* A function that the program has by other ways than the calls that we know. */
	shim_slot[SHIM_FN_cuFuncGetModule] = (void *)(uintptr_t)fake_module_of;
	assert_int_equal(cuModuleLoadData(&module_of_function, library), CUDA_SUCCESS);
	assert_int_equal(shim_kernel_find((void *)0x66660)->reason, PTX_REASON_LIBRARY);
	shim_slot[SHIM_FN_cuFuncGetModule] = NULL;
	/* The program's own by a library: of libcudart.so nothing else comes. */
	module = NULL;
	lfind(&module, ptx, &(size_t) { 1 }, 1,
	      (int (*)(const void *, const void *))(uintptr_t)cuModuleLoadData);
	assert_ptr_not_equal(last_image, ptx);
	assert_non_null(kernel_of(module)->variant);
	free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(module_of_a_library),
		cmocka_unit_test(module_of_an_unknown_library),
		cmocka_unit_test(function_with_the_number_of_another),
		cmocka_unit_test(module_with_the_number_of_another),
		cmocka_unit_test(variants_made_beforehand),
		cmocka_unit_test(warps_leave),
		cmocka_unit_test(room_for_words),
		cmocka_unit_test(set_on_both),
		cmocka_unit_test(long_name),
		cmocka_unit_test(linked),
		cmocka_unit_test(link_refused),
		cmocka_unit_test(of_a_library),
	};

	return cmocka_run_group_tests(tests, setup, NULL) + shim_listings() + shim_links();
}
