/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver gets what the program gives, byte for byte; and each way by which a program comes to a
 * kernel leads to what is known of it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/kernel/kernels.h"
#include "device/shim/session/session.h"
#include "device/shim/base/shim.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/variant/variant.h"
#include "device/shim/base/wraps.h"
#include "fake_driver.h"

extern void *shim_slot[SHIM_FN_COUNT];

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			  ".visible .entry k(.param .u64 p)\n{\n"
			  "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
			  "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n"
			  "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
			  "\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n";

/* ---- a driver whose libraries and modules are numbers, as are their kernels ---- */

static uintptr_t next_handle = 0x10000;

/* What the last call was given. */
static struct {
	const void *image, *path, *options, *values;
	unsigned int n;
	uint64_t hash; /* of the image's text */
} got;

static CUresult load(uintptr_t *handle, const void *image)
{
	got.image = image;
	got.hash = image ? ptx_content(image, strlen(image)) : 0;
	*handle = next_handle += 0x100000;
	return CUDA_SUCCESS;
}

static CUresult fake_library(CUlibrary *library, const void *code, CUjit_option *jit,
			     void **jit_values, unsigned int njit, CUlibraryOption *options,
			     void **values, unsigned int n)
{
	(void)options, (void)values, (void)n;
	got.options = jit;
	got.values = jit_values;
	got.n = njit;
	return load((uintptr_t *)library, code);
}

static CUresult fake_library_file(CUlibrary *library, const char *path, CUjit_option *jit,
				  void **jit_values, unsigned int njit, CUlibraryOption *options,
				  void **values, unsigned int n)
{
	got.path = path;
	return fake_library(library, NULL, jit, jit_values, njit, options, values, n);
}

static CUresult fake_module(CUmodule *module, const void *image, unsigned int n,
			    CUjit_option *options, void **values)
{
	got.options = options;
	got.values = values;
	got.n = n;
	return load((uintptr_t *)module, image);
}

static CUresult fake_plain(CUmodule *module, const void *image)
{
	return load((uintptr_t *)module, image);
}

static CUresult fake_file(CUmodule *module, const char *path)
{
	got.path = path;
	return load((uintptr_t *)module, NULL);
}

static CUresult fake_library_module(CUmodule *module, CUlibrary library)
{
	*module = (CUmodule)((uintptr_t)library + 0x1000);
	return CUDA_SUCCESS;
}

static CUresult fake_function(CUfunction *f, CUmodule module, const char *name)
{
	(void)name;
	*f = (CUfunction)((uintptr_t)module + 0x10);
	return CUDA_SUCCESS;
}

static CUresult fake_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	(void)name;
	*kernel = (CUkernel)((uintptr_t)library + 0x30);
	return CUDA_SUCCESS;
}

/* Each context's functions have the numbers of the last one's. */
static CUresult fake_kernel_function(CUfunction *f, CUkernel kernel)
{
	(void)kernel;
	*f = (CUfunction)0x7000;
	return CUDA_SUCCESS;
}

static CUresult fake_one(unsigned int *n, CUlibrary library)
{
	(void)library;
	*n = 1;
	return CUDA_SUCCESS;
}

static CUresult fake_kernels(CUkernel *kernels, unsigned int n, CUlibrary library)
{
	return n ? fake_kernel(kernels, library, "k") : CUDA_SUCCESS;
}

static CUresult fake_name(const char **name, CUkernel kernel)
{
	(void)kernel;
	*name = "k";
	return CUDA_SUCCESS;
}

static CUresult fake_add(CUlinkState state, CUjitInputType type, void *data, size_t size,
			 const char *name, unsigned int n, CUjit_option *options, void **values)
{
	(void)state, (void)type, (void)size, (void)name;
	got.options = options;
	got.values = values;
	got.n = n;
	got.image = data;
	return CUDA_SUCCESS;
}

#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

static int setup(void **unused)
{
	(void)unused;
	fake_driver_install();
	PUT(cuLibraryLoadData, fake_library);
	PUT(cuLibraryLoadFromFile, fake_library_file);
	PUT(cuModuleLoadDataEx, fake_module);
	PUT(cuModuleLoadData, fake_plain);
	PUT(cuModuleLoadFatBinary, fake_plain);
	PUT(cuModuleLoad, fake_file);
	PUT(cuLibraryGetModule, fake_library_module);
	PUT(cuModuleGetFunction, fake_function);
	PUT(cuLibraryGetKernel, fake_kernel);
	PUT(cuLibraryGetKernelCount, fake_one);
	PUT(cuLibraryEnumerateKernels, fake_kernels);
	PUT(cuKernelGetName, fake_name);
	PUT(cuKernelGetFunction, fake_kernel_function);
	PUT(cuLinkAddData_v2, fake_add);
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

static struct shim_kernel *kernel_of(CUmodule module)
{
	CUfunction f = NULL;

	assert_int_equal(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
	return shim_kernel_find(f);
}

/* ---- what the driver gets ------------------------------------------------------- */

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
	assert_int_equal(write(fd, ptx, sizeof(ptx)), sizeof(ptx));
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
					  (void *)(uintptr_t)ptx, sizeof(ptx), "k", 1, &option,
					  &value),
			 CUDA_SUCCESS);
	got.hash = ptx_content(ptx, strlen(ptx));
	expect_own(ptx, &option, &value, 1);
}

/* ---- what is remembered ----------------------------------------------------------- */

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

static const struct shim_code *code_of(CUlibrary library)
{
	CUkernel kernel = NULL;
	CUfunction f = NULL;

	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	assert_int_equal(cuKernelGetFunction(&f, kernel), CUDA_SUCCESS);
	assert_ptr_equal(shim_kernel_find(f)->code, shim_kernel_find(kernel)->code);
	return shim_kernel_find(f)->code;
}

/* A function's number comes again, of another library's kernel. */
static void function_with_the_number_of_another(void **unused)
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

/* A module went with its context, and a library's has its number. */
static void module_with_the_number_of_another(void **unused)
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

/* ---- modules that are loaded again and again ------------------------------------------ */

static CUmodule module_of(const char *text)
{
	CUmodule module = NULL;

	assert_int_equal(cuModuleLoadData(&module, text), CUDA_SUCCESS);
	return module;
}

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

/* Unloads the module; the next one that is loaded gets its number. */
static void unload(CUmodule module)
{
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	next_handle = (uintptr_t)module - 0x100000;
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

/* Each time it has another number: a kernel has a record in each bucket at most. */
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

/* A library is as it was: its kernels have records in several places. */
static void libraries_do_not_come_back(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_module *m = shim_module_find(library);

	(void)unused;
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	library = library_of(ptx);
	assert_ptr_not_equal(shim_module_find(library), m);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
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

/* ---- what is set on them --------------------------------------------------------- */

/* Each call adds up the handles that it is for. */
static uintptr_t set_on;
static int shared_bytes; /* the original's */

static CUresult fake_get_attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && f != FAKE_VARIANT ?
			 shared_bytes :
			 0;
	return CUDA_SUCCESS;
}

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

static uintptr_t what_was_set(void)
{
	uintptr_t on = set_on;

	set_on = 0;
	return on;
}

static void set_on_both(void **unused)
{
	struct shim_variant *v = calloc(1, sizeof(*v));
	CUlibrary library = library_of(ptx);
	CUkernel kernel = NULL;
	struct shim_code *code;

	(void)unused;
	PUT(cuFuncGetAttribute, fake_get_attribute);
	PUT(cuFuncSetAttribute, fake_set_attribute);
	PUT(cuFuncSetCacheConfig, fake_set_cache);
	PUT(cuKernelSetAttribute, fake_set_kernels_attribute);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	code = shim_kernel_find(kernel)->code;
	v->ctx = shim_context_current(shim_session());
	v->f = FAKE_VARIANT;
	v->transform = PTX_TRANSFORM_PERSISTENT;
	/* Before the variant is there: */
	assert_int_equal(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0), CUDA_SUCCESS);
	shared_bytes = 70000;
	set_on = 0;
	shim_variant_take_settings(shim_kernel_find(kernel), v);
	assert_int_equal(what_was_set(), 2 * (uintptr_t)FAKE_VARIANT);
	/* and after. */
	shim_variant_add(code, v);
	assert_int_equal(code->transform, PTX_TRANSFORM_PERSISTENT);
	assert_int_equal(
		cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1, kernel, 0),
		CUDA_SUCCESS);
	assert_int_equal(what_was_set(), (uintptr_t)kernel + (uintptr_t)FAKE_VARIANT);
	assert_int_equal(cuFuncSetAttribute((CUfunction)(uintptr_t)kernel,
					    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1),
			 CUDA_SUCCESS);
	assert_int_equal(what_was_set(), (uintptr_t)kernel + (uintptr_t)FAKE_VARIANT);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	assert_null(code->variants);
	assert_int_equal(code->transform,
			 PTX_TRANSFORM_PERSISTENT); /* the report says what it had */
	shim_variant_free(v);
}

/* It is worth it while it costs little, and more where somebody waits. */
static void what_costs_too_much(void **unused)
{
	struct shim_variant v = { .f = FAKE_VARIANT };
	struct shim_code code = { .name = (char *)(uintptr_t) "k" };

	(void)unused;
	code.variants = &v;
	assert_true(shim_variant_pays(&v, 0));
	for (int i = 0; i < 3; i++) {
		shim_variant_timed(&code, NULL, 1, 77, 1000);
		shim_variant_timed(&code, NULL, 0, 77, i ? 1010 : 9000); /* the first is cold */
		assert_true(shim_variant_pays(&v, 0));
	}
	shim_variant_timed(&code, NULL, 0, 77, 1040);
	assert_int_equal(v.cost.written_ps, 1000);
	assert_int_equal(v.cost.variant_ps, 1020);
	assert_true(shim_variant_pays(&v, 0));
	/* Later ones found another GPU. */
	shim_variant_timed(&code, NULL, 0, 77, 2000);
	assert_int_equal(v.cost.variant_ps, 1020);
	v.cost.variant_ps = 1040;
	assert_false(shim_variant_pays(&v, 0));
	assert_true(shim_variant_pays(&v, 1));
	v.cost.variant_ps = 1510;
	assert_false(shim_variant_pays(&v, 1));
}

/* One that is launched with several block dimensions in turn is compared with the first ones, and
 * with others once it is launched with those for good. */
static void compared_with_the_same_dimensions(void **unused)
{
	struct shim_variant v = { .f = FAKE_VARIANT };
	struct shim_code code = { .name = (char *)(uintptr_t) "k" };
	int i;

	(void)unused;
	code.variants = &v;
	/* As launches do it: each is asked of, and timed as it went out. */
	for (i = 0; i < 100 && !shim_variant_is_compared(&v); i++) {
		int as_written = shim_variant_compares(&v, 77);

		shim_variant_timed(&code, NULL, as_written, 77, as_written ? 1000 : 1100);
		as_written = shim_variant_compares(&v, 78);
		shim_variant_timed(&code, NULL, as_written, 78, 5000);
	}
	assert_int_equal(i, 7);
	assert_int_equal(v.cost.dims, 77);
	assert_int_equal(v.cost.written_ps, 1000);
	assert_int_equal(v.cost.variant_ps, 1100);
	v.cost = (struct shim_cost) { .dims = 77, .written_ps = 1000, .writtens = 1 };
	for (i = 0; i < 4; i++) {
		assert_int_equal(v.cost.dims, 77);
		shim_variant_timed(&code, NULL, 1, 78, 5000);
	}
	assert_int_equal(v.cost.dims, 78);
	assert_int_equal(v.cost.written_ps, 5000);
	assert_int_equal(v.cost.writtens, 1);
}

/* Until both are known timed launches take turns, for a while. */
static void compared_in_turns(void **unused)
{
	struct shim_variant v = { .f = FAKE_VARIANT };
	struct shim_code code = { .name = (char *)(uintptr_t) "k" };
	int as_written = 0;

	(void)unused;
	code.variants = &v;
	assert_false(shim_variant_compares(&v, 77));
	shim_variant_timed(&code, NULL, 0, 77, 1000);
	assert_true(shim_variant_compares(&v, 77));
	shim_variant_timed(&code, NULL, 1, 77, 2000);
	for (int i = 0; i < 100; i++)
		as_written += shim_variant_compares(&v, 77);
	assert_int_equal(as_written, SHIM_COMPARED / 2 - 1);
	v.cost = (struct shim_cost) { .dims = 78 };
	for (int i = 0; i < 4; i++)
		shim_variant_timed(&code, NULL, 0, 78, 1000);
	for (int i = 0; i < 3; i++)
		shim_variant_timed(&code, NULL, 1, 78, 1000);
	for (int i = 0; i < 4; i++)
		assert_false(shim_variant_compares(&v, 78));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_is_passed_on),
		cmocka_unit_test(files_are_the_drivers),
		cmocka_unit_test(the_linkers_input_is_passed_on),
		cmocka_unit_test(what_may_be_freed_is_copied),
		cmocka_unit_test(what_is_gone_is_not_read),
		cmocka_unit_test(where_files_are_limited),
		cmocka_unit_test(what_is_too_large_is_not_copied),
		cmocka_unit_test(each_way_leads_to_the_module),
		cmocka_unit_test(function_with_the_number_of_another),
		cmocka_unit_test(module_with_the_number_of_another),
		cmocka_unit_test(a_module_that_comes_back_is_known),
		cmocka_unit_test(a_module_that_comes_back_elsewhere),
		cmocka_unit_test(what_is_alike_is_not_the_same),
		cmocka_unit_test(what_is_being_made_is_not_used_again),
		cmocka_unit_test(libraries_do_not_come_back),
		cmocka_unit_test(modules_go_with_their_context),
		cmocka_unit_test(functions_of_libraries_go_with_their_context),
		cmocka_unit_test(who_is_cancelled_does_it_all),
		cmocka_unit_test(set_on_both),
		cmocka_unit_test(what_costs_too_much),
		cmocka_unit_test(compared_in_turns),
		cmocka_unit_test(compared_with_the_same_dimensions),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
