/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fatbins on the emulated device: their PTX runs, whatever the packing and however they are handed
 * over. */
#define _GNU_SOURCE
#include "emu_util.h"

#define N 300

/* nvcc's wrapper around a container in the program's memory. */
struct wrapper {
	uint32_t magic, version;
	const void *container;
	void *unused;
};

static char *contents(const char *name, size_t *len)
{
	char path[512], *data;
	FILE *f;
	long n;

	snprintf(path, sizeof(path), "%s/%s", FATBIN_DATA, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	n = ftell(f);
	assert_true(n > 0);
	rewind(f);
	data = malloc((size_t)n);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)n, f), n);
	fclose(f);
	*len = (size_t)n;
	return data;
}

/* y[i] += a * x[i] * scale[i & 3], for all but the last element */
static void run_axpy(CUmodule m)
{
	static const float scale[4] = { 1, 2, 3, 4 };
	static float x[N], y[N];
	CUdeviceptr dx = emu_test_zeroed(sizeof(x)), dy = emu_test_zeroed(sizeof(y)), ds;
	float a = 0.5f;
	int n = N - 1;
	void *params[] = { &dy, &dx, &a, &n };
	size_t size;
	CUfunction f;

	for (int i = 0; i < N; i++) {
		x[i] = (float)i;
		y[i] = 1;
	}
	OK(cuModuleGetFunction(&f, m, "axpy"));
	OK(cuModuleGetGlobal(&ds, &size, m, "scale"));
	assert_int_equal(size, sizeof(scale));
	OK(cuMemcpyHtoD(ds, scale, sizeof(scale)));
	OK(cuMemcpyHtoD(dx, x, sizeof(x)));
	OK(cuMemcpyHtoD(dy, y, sizeof(y)));
	OK(cuLaunchKernel(f, (N + 63) / 64, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(y, dy, sizeof(y)));
	for (int i = 0; i < N; i++)
		assert_true(y[i] == (i < n ? 1 + a * x[i] * scale[i & 3] : 1));
	OK(cuMemFree(dx));
	OK(cuMemFree(dy));
}

static void container(const char *name)
{
	size_t len;
	char *data = contents(name, &len);
	struct wrapper w = { 0x466243b1, 1, data, NULL };
	char path[512];
	CUmodule m;

	OK(cuModuleLoadData(&m, data));
	run_axpy(m);
	OK(cuModuleUnload(m));
	OK(cuModuleLoadFatBinary(&m, &w));
	free(data); /* nothing of it is needed any more */
	run_axpy(m);
	OK(cuModuleUnload(m));
	snprintf(path, sizeof(path), "%s/%s", FATBIN_DATA, name);
	OK(cuModuleLoad(&m, path));
	run_axpy(m);
	OK(cuModuleUnload(m));
}

static void packings(void **state)
{
	(void)state;
	container("plain.fatbin");
	container("zstd.fatbin");
	container("lz4.fatbin");
	container("size.fatbin");
	container("cuda12.fatbin");
	container("variants.fatbin");
}

static void library(void **state)
{
	size_t len;
	char *data = contents("plain.fatbin", &len);
	CUlibrary lib;
	CUmodule m;

	(void)state;
	OK(cuLibraryLoadData(&lib, data, NULL, NULL, 0, NULL, NULL, 0));
	free(data);
	OK(cuLibraryGetModule(&m, lib));
	run_axpy(m);
	OK(cuLibraryUnload(lib));
}

static void refused(void **state)
{
	size_t len;
	char *data = contents("machine.fatbin", &len), log[256] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log) };
	struct wrapper linked = { 0x466243b1, 2, data, NULL };
	CUmodule m;

	(void)state;
	/* machine code only */
	assert_int_equal(cuModuleLoadDataEx(&m, data, 2, options, values),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_non_null(strstr(log, "no PTX for compute capability 9.0"));
	assert_int_equal(cuModuleLoadData(&m, &linked), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_int_equal(cuModuleLoad(&m, FATBIN_DATA "/machine.fatbin"),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_int_equal(cuModuleLoad(&m, FATBIN_DATA "/library.so"), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_int_equal(cuModuleLoad(&m, FATBIN_DATA "/nosuch.fatbin"), CUDA_ERROR_FILE_NOT_FOUND);
	free(data);
	/* the first entry says that it ends behind the container */
	data = contents("plain.fatbin", &len);
	assert_true(len > 40);
	memset(data + 16 + 8, 0xff, 4);
	assert_int_equal(cuModuleLoadData(&m, data), CUDA_ERROR_INVALID_IMAGE);
	data[6] = 77; /* nor is this a container's header */
	assert_int_equal(cuModuleLoadData(&m, data), CUDA_ERROR_INVALID_IMAGE);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packings),
		cmocka_unit_test(library),
		cmocka_unit_test(refused),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, emu_test_begin, emu_test_end);
}
