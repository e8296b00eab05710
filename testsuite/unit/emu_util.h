/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the emulated device's tests share: a device of their own in a temporary directory, and short
 * ways to run PTX. */
#ifndef GPUSHARE_TEST_EMU_UTIL_H
#define GPUSHARE_TEST_EMU_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "device/driver/cuda.h"

#define OK(call) assert_int_equal((call), CUDA_SUCCESS)
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static char emu_dir[64];

/* GPUSHARE_EMU_* for this process and its children; before cuInit. */
static inline void emu_test_environment(const char *sms, const char *memory)
{
	char path[128];

	strcpy(emu_dir, "/tmp/gs-emu-XXXXXX");
	assert_non_null(mkdtemp(emu_dir));
	snprintf(path, sizeof(path), "%s/device", emu_dir);
	setenv("GPUSHARE_EMU_DEVICE", path, 1);
	snprintf(path, sizeof(path), "%s/log", emu_dir);
	setenv("GPUSHARE_EMU_LOG", path, 1);
	setenv("GPUSHARE_EMU_SMS", sms, 1);
	setenv("GPUSHARE_EMU_MEMORY", memory, 1);
	setenv("GPUSHARE_EMU_BLOCKS_PER_SM", "2", 1);
	setenv("GPUSHARE_EMU_SLICE_MS", "2", 1);
}

static inline void emu_test_cleanup(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/device", emu_dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/log", emu_dir);
	unlink(path);
	rmdir(emu_dir);
}

/* The log's text, and an empty log from here on. */
static inline const char *emu_test_log(void)
{
	static char text[8192];
	char path[128];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/log", emu_dir);
	f = fopen(path, "r");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		unlink(path);
	}
	text[n] = '\0';
	return text;
}

static inline CUcontext emu_test_context(void)
{
	CUcontext ctx;

	OK(cuInit(0));
	OK(cuCtxCreate(&ctx, NULL, 0, 0));
	return ctx;
}

/* Of a group of tests: two multiprocessors, 64 MiB, and a context. */
static inline int emu_test_begin(void **state)
{
	(void)state;
	emu_test_environment("2", "64M");
	emu_test_context();
	return 0;
}

static inline int emu_test_end(void **state)
{
	(void)state;
	emu_test_cleanup();
	return 0;
}

static inline CUfunction emu_test_kernel(const char *ptx, const char *name)
{
	CUmodule m;
	CUfunction f;

	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, name));
	return f;
}

static inline CUdeviceptr emu_test_zeroed(size_t bytes)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, bytes));
	OK(cuMemsetD8(p, 0, bytes));
	return p;
}

static inline double emu_test_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static inline void emu_test_sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

#endif
