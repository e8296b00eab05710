/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers that are linked at run time, and the linker's old symbols: both lead to the variants.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/fatbin/fatbin.h"
#include "device/shim/kernels.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"
#include "fake_driver.h"
#include "test_shim_modules.h"

extern void *shim_slot[SHIM_FN_COUNT];

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k(.param .u64 p)\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %ctaid.x;\n\tret;\n}\n";

/* ---- a linker that looks at what it gets ---- */

static struct {
	int variants, originals; /* inputs with and without variants */
	int old, files;          /* of those: by the old symbols, in files */
	CUjitInputType type;     /* the last one's */
} got;
static CUresult refusal; /* what variants get */
static Elf64_Ehdr cubin = { .e_ident = ELFMAG, .e_machine = 190 };

static int has_variants(CUjitInputType type, const void *data, size_t size)
{
	struct gs_error err;
	struct gs_fatbin fb;
	char *text;
	size_t len;
	int has;

	if (type == CU_JIT_INPUT_PTX)
		return memmem(data, size, PTX_PERSISTENT_SUFFIX, strlen(PTX_PERSISTENT_SUFFIX)) !=
		       NULL;
	/* Nothing but the container, whole. */
	assert_int_equal(gs_fatbin_open(data, size, &fb, &err), 0);
	assert_int_equal(fb.bytes.len, size);
	assert_int_equal(gs_fatbin_best_ptx(&fb, 75, &text, &len, &err), 1);
	has = strstr(text, PTX_PERSISTENT_SUFFIX) != NULL;
	free(text);
	return has;
}

static CUresult fake_add(CUlinkState state, CUjitInputType type, void *data, size_t size,
			 const char *name, unsigned int n, CUjit_option *options, void **values)
{
	int variants = has_variants(type, data, size);

	(void)state, (void)name, (void)n, (void)options, (void)values;
	if (variants && refusal != CUDA_SUCCESS)
		return refusal;
	got.type = type;
	got.variants += variants;
	got.originals += !variants;
	return CUDA_SUCCESS;
}

static CUresult fake_add_old(CUlinkState state, CUjitInputType type, void *data, size_t size,
			     const char *name, unsigned int n, CUjit_option *options, void **values)
{
	got.old++;
	return fake_add(state, type, data, size, name, n, options, values);
}

static CUresult fake_file(CUlinkState state, CUjitInputType type, const char *path, unsigned int n,
			  CUjit_option *options, void **values)
{
	(void)state, (void)path, (void)n, (void)options, (void)values;
	got.type = type;
	got.files++;
	got.originals++;
	return CUDA_SUCCESS;
}

static CUresult fake_file_old(CUlinkState state, CUjitInputType type, const char *path,
			      unsigned int n, CUjit_option *options, void **values)
{
	got.old++;
	return fake_file(state, type, path, n, options, values);
}

static CUresult fake_complete(CUlinkState state, void **image, size_t *size)
{
	(void)state;
	cubin.e_entry++;
	*image = &cubin;
	*size = sizeof(cubin);
	return CUDA_SUCCESS;
}

static CUresult fake_load(CUmodule *module, const void *image, unsigned int n,
			  CUjit_option *options, void **values)
{
	static uintptr_t next = 0xb00000;

	(void)image, (void)n, (void)options, (void)values;
	*module = (CUmodule)(next += 0x1000);
	return CUDA_SUCCESS;
}

static CUresult fake_function(CUfunction *f, CUmodule module, const char *name)
{
	*f = (CUfunction)((uintptr_t)module + (strstr(name, PTX_PERSISTENT_SUFFIX) ? 0x20 : 0x10));
	return CUDA_SUCCESS;
}

static CUresult fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 7 :
		 attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 5 :
									     0;
	return CUDA_SUCCESS;
}

static int setup(void **unused)
{
	(void)unused;
	shim_slot[SHIM_FN_cuLinkAddData] = (void *)(uintptr_t)fake_add_old;
	shim_slot[SHIM_FN_cuLinkAddData_v2] = (void *)(uintptr_t)fake_add;
	shim_slot[SHIM_FN_cuLinkAddFile] = (void *)(uintptr_t)fake_file_old;
	shim_slot[SHIM_FN_cuLinkAddFile_v2] = (void *)(uintptr_t)fake_file;
	shim_slot[SHIM_FN_cuLinkComplete] = (void *)(uintptr_t)fake_complete;
	shim_slot[SHIM_FN_cuModuleLoadDataEx] = (void *)(uintptr_t)fake_load;
	shim_slot[SHIM_FN_cuModuleGetFunction] = (void *)(uintptr_t)fake_function;
	shim_slot[SHIM_FN_cuDeviceGetAttribute] = (void *)(uintptr_t)fake_attribute;
	return 0;
}

static int forget(void **unused)
{
	(void)unused;
	memset(&got, 0, sizeof(got));
	refusal = CUDA_SUCCESS;
	return 0;
}

/* A container of the text for sm_75 (doc/fatbin.md), the caller's to free. */
static void *container(size_t *size)
{
	uint8_t header[64] = { 1, 0, 1, 1, 64 };
	struct gs_fatbin_entry e = { .kind = GS_ENTRY_PTX,
				     .flags = 0x11,
				     .header = { header, sizeof(header) } };
	struct gs_error err;
	void *data;

	header[26] = 7;
	header[28] = 75;
	data = gs_fatbin_wrap(&e, ptx, sizeof(ptx) - 1, size, &err);
	assert_non_null(data);
	return data;
}

/* It is linked, loaded, and its kernel has its variant or not. */
static void expect_variant(CUlinkState state, int variant)
{
	const struct shim_kernel *k;
	CUmodule module;
	CUfunction f;
	void *image;
	size_t size;

	assert_int_equal(cuLinkComplete(state, &image, &size), CUDA_SUCCESS);
	assert_int_equal(cuModuleLoadData(&module, image), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
	k = shim_kernel_find(f);
	assert_ptr_equal(k->variant, variant ? (uintptr_t)module + 0x20 : 0);
	assert_int_equal(cuLinkDestroy(state), CUDA_SUCCESS);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
}

static void a_container_is_linked(void **unused)
{
	CUlinkState state = (CUlinkState)0xa00;
	size_t size;
	void *data = container(&size);

	(void)unused;
	assert_int_equal(
		cuLinkAddData_v2(state, CU_JIT_INPUT_FATBINARY, data, size, "k", 0, NULL, NULL),
		CUDA_SUCCESS);
	assert_int_equal(got.variants, 1);
	assert_int_equal(got.originals, 0);
	assert_int_equal(got.type, CU_JIT_INPUT_FATBINARY);
	expect_variant(state, 1);
	/* The linker does not take it: it gets the program's own. */
	forget(NULL);
	refusal = CUDA_ERROR_INVALID_PTX;
	assert_int_equal(
		cuLinkAddData_v2(state, CU_JIT_INPUT_FATBINARY, data, size, "k", 0, NULL, NULL),
		CUDA_SUCCESS);
	assert_int_equal(got.originals, 1);
	expect_variant(state, 0);
	free(data);
}

static void write_file(char *path, const void *data, size_t size)
{
	int fd;

	strcpy(path, "/tmp/gpushare-link.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static void a_file_is_linked(void **unused)
{
	CUlinkState state = (CUlinkState)0xb00;
	char path[32];
	size_t size;
	void *data = container(&size);

	(void)unused;
	write_file(path, data, size);
	free(data);
	assert_int_equal(cuLinkAddFile_v2(state, CU_JIT_INPUT_FATBINARY, path, 0, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(got.variants, 1);
	assert_int_equal(got.files, 0);
	assert_int_equal(got.type, CU_JIT_INPUT_FATBINARY);
	expect_variant(state, 1);
	forget(NULL);
	/* Machine code is the driver's to read. */
	assert_int_equal(cuLinkAddFile_v2(state, CU_JIT_INPUT_CUBIN, path, 0, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(got.files, 1);
	expect_variant(state, 0);
	unlink(path);
}

/* The driver is entered by the version that the program has called. */
static void old_symbols(void **unused)
{
	CUlinkState state = (CUlinkState)0xc00;
	char path[32];

	(void)unused;
	assert_int_equal(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, sizeof(ptx),
				       "k", 0, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(got.variants, 1);
	assert_int_equal(got.old, 1);
	expect_variant(state, 1);
	forget(NULL);
	write_file(path, ptx, sizeof(ptx) - 1);
	assert_int_equal(cuLinkAddFile(state, CU_JIT_INPUT_PTX, path, 0, NULL, NULL), CUDA_SUCCESS);
	assert_int_equal(got.variants, 1);
	assert_int_equal(got.old, 1);
	expect_variant(state, 1);
	unlink(path);
	forget(NULL);
	assert_int_equal(cuLinkAddFile(state, CU_JIT_INPUT_LIBRARY, "libx.a", 0, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(got.files, 1);
	assert_int_equal(got.old, 1);
	assert_int_equal(cuLinkDestroy(state), CUDA_SUCCESS);
}

int shim_links(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_container_is_linked, forget),
		cmocka_unit_test_setup(a_file_is_linked, forget),
		cmocka_unit_test_setup(old_symbols, forget),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
