/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where gpushare-bench finds the driver beneath the shim, whatever its file is
 * called.  Each case is a process of its own: what was loaded stays.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/bench/driver.h"

#define SHIM "src/device/shim/.libs/libcuda.so.1"
#define EMULATED "src/device/emu/.libs/libcuda.so.1"

static char folder[] = "/tmp/test_bench_driver.XXXXXX", link_path[PATH_MAX], copy_path[PATH_MAX];
static char device_path[PATH_MAX]; /* else one in shared memory, which stays */

static void in_child(void (*check)(void))
{
	pid_t child = fork();
	int status = -1;

	assert_true(child >= 0);
	if (child == 0) {
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void wrong(int line, const char *words)
{
	fprintf(stderr, "line %d: %s\n", line, words);
	_exit(1);
}
#define IS(condition, words) ((condition) ? (void)0 : wrong(__LINE__, (words)))

static const char *file_of(const struct bench_driver *cu)
{
	void *entry;
	Dl_info info;

	memcpy(&entry, &cu->cuLaunchKernel, sizeof(entry));
	IS(dladdr(entry, &info), "a function of no library");
	return info.dli_fname;
}

/* The shim, over the driver in that file. */
static const struct bench_driver *shim_over(const char *driver, CUresult *rc)
{
	struct gs_error err = { "" };
	const struct bench_driver *cu;

	IS(setenv("GPUSHARE_DRIVER", driver, 1) == 0 && unsetenv("GPUSHARE_SOCKET") == 0,
	   "no environment");
	cu = bench_driver_open(SHIM, &err);
	IS(cu, err.text);
	*rc = cu->cuInit(0);
	return cu;
}

static void beneath(const char *driver)
{
	struct gs_error err = { "" };
	CUresult rc;
	const struct bench_driver *cu = shim_over(driver, &rc), *found;

	IS(rc == CUDA_SUCCESS, "cuInit failed");
	found = bench_driver_beneath(cu, &err);
	IS(found, err.text);
	IS(strcmp(file_of(found), driver) == 0, file_of(found));
	IS(found->cuLaunchKernel != cu->cuLaunchKernel, "the shim, once more");
}

static void by_the_usual_name(void)
{
	beneath(EMULATED);
}

static void by_another_name(void)
{
	beneath(link_path);
}

/* A copy of that library, which is loaded first. */
static void load_copy(const char *library)
{
	char buffer[65536];
	FILE *from = fopen(library, "r"), *to = fopen(copy_path, "w");
	size_t n;

	IS(from && to, library);
	while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0)
		IS(fwrite(buffer, 1, n, to) == n, copy_path);
	IS(fclose(to) == 0 && fclose(from) == 0, copy_path);
	IS(dlopen(copy_path, RTLD_NOW | RTLD_LOCAL), dlerror());
}

static void beside_another_shim(void)
{
	load_copy(SHIM);
	beneath(EMULATED);
}

/* As LD_PRELOAD would a library that hooks the driver's functions. */
static void behind_a_hook(void)
{
	load_copy(EMULATED);
	beneath(EMULATED);
}

static void none(void)
{
	struct gs_error err = { "" };
	CUresult rc;
	const struct bench_driver *cu = shim_over("/nonexistent/libcuda.so.1", &rc);

	IS(rc != CUDA_SUCCESS, "cuInit succeeded");
	IS(!bench_driver_beneath(cu, &err), "found one");
	IS(strstr(err.text, "no driver is loaded beneath gpushare's shim"), err.text);
}

static void no_shim(void)
{
	struct gs_error err = { "" };
	const struct bench_driver *cu = bench_driver_open(EMULATED, &err);

	IS(cu, err.text);
	IS(cu->cuInit(0) == CUDA_SUCCESS, "cuInit failed");
	IS(bench_driver_beneath(cu, &err) == cu, "another driver");
}

static void test_the_usual_name(void **unused)
{
	(void)unused;
	in_child(by_the_usual_name);
}

static void test_another_name(void **unused)
{
	(void)unused;
	in_child(by_another_name);
}

static void test_another_shim(void **unused)
{
	(void)unused;
	in_child(beside_another_shim);
}

static void test_hook(void **unused)
{
	(void)unused;
	in_child(behind_a_hook);
}

static void test_no_driver(void **unused)
{
	(void)unused;
	in_child(none);
}

static void test_no_shim(void **unused)
{
	(void)unused;
	in_child(no_shim);
}

static int setup(void **unused)
{
	char path[PATH_MAX];

	(void)unused;
	if (!realpath(EMULATED, path) || !mkdtemp(folder))
		return -1;
	snprintf(link_path, sizeof(link_path), "%s/vendor.so", folder);
	snprintf(copy_path, sizeof(copy_path), "%s/copy.so", folder);
	snprintf(device_path, sizeof(device_path), "%s/device", folder);
	return setenv("GPUSHARE_EMU_DEVICE", device_path, 1) | symlink(path, link_path);
}

static int teardown(void **unused)
{
	(void)unused;
	unlink(copy_path);
	unlink(device_path);
	return unlink(link_path) | rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_usual_name), cmocka_unit_test(test_another_name),
		cmocka_unit_test(test_another_shim),   cmocka_unit_test(test_hook),
		cmocka_unit_test(test_no_driver),      cmocka_unit_test(test_no_shim),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
