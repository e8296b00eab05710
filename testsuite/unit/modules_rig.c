/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See modules_rig.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/shim.h"
#include "fake_driver.h"
#include "modules_rig.h"

const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		   ".visible .entry k(.param .u64 p)\n{\n"
		   "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
		   "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n"
		   "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
		   "\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n";

uintptr_t next_handle = 0x10000;

struct got got;

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

/* Each context's functions have the handles of the last one's. */
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

int modules_rig_setup(void **unused)
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

CUlibrary library_of(const char *text)
{
	CUlibrary library = NULL;

	assert_int_equal(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0),
			 CUDA_SUCCESS);
	return library;
}

struct shim_kernel *kernel_of(CUmodule module)
{
	CUfunction f = NULL;

	assert_int_equal(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
	return shim_kernel_find(f);
}

const struct shim_code *code_of(CUlibrary library)
{
	CUkernel kernel = NULL;
	CUfunction f = NULL;

	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	assert_int_equal(cuKernelGetFunction(&f, kernel), CUDA_SUCCESS);
	assert_ptr_equal(shim_kernel_find(f)->code, shim_kernel_find(kernel)->code);
	return shim_kernel_find(f)->code;
}

CUmodule module_of(const char *text)
{
	CUmodule module = NULL;

	assert_int_equal(cuModuleLoadData(&module, text), CUDA_SUCCESS);
	return module;
}

void unload(CUmodule module)
{
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	next_handle = (uintptr_t)module - 0x100000;
}
