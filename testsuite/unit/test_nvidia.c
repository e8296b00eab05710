/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the GPU behind a device file in a copy of the vendor's /proc folder. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/nvidia.h"

static char root[64];

static void put(const char *pci, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, pci);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/information", root, pci);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gsnvidia.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("0000:3b:00.0",
	    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 10\n"
	    "GPU UUID: \t GPU-11111111-2222-3333-4444-555555555555\nBus Type: \t PCIe\n"
	    "Device Minor: \t 1\n");
	put("0000:af:00.0", "GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?\n"
			    "Device Minor: \t 10\n");
	return 0;
}

static int teardown(void **state)
{
	static const char *const pci[] = { "0000:3b:00.0", "0000:af:00.0" };
	char path[256];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s/information", root, pci[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s", root, pci[i]);
		rmdir(path);
	}
	return rmdir(root);
}

static void test_by_minor(void **state)
{
	struct gs_nvidia gpu;

	(void)state;
	assert_int_equal(gs_nvidia_find(root, 1, &gpu), 0);
	assert_string_equal(gpu.pci, "0000:3b:00.0");
	assert_string_equal(gpu.uuid, "GPU-11111111-2222-3333-4444-555555555555");
	assert_int_equal(gs_nvidia_find(root, 10, &gpu), 0);
	assert_string_equal(gpu.pci, "0000:af:00.0");
	assert_string_equal(gpu.uuid, ""); /* the driver does not know it yet */
	assert_int_equal(gs_nvidia_find(root, 0, &gpu), -1);
	assert_int_equal(gs_nvidia_find("/nonexistent", 1, &gpu), -1);
}

static void test_by_file(void **state)
{
	struct gs_nvidia gpu;

	(void)state;
	/* Minor numbers of other drivers say nothing: /dev/mem is 1, 1. */
	assert_int_equal(gs_nvidia_of_file(root, "/dev/mem", &gpu), -1);
	assert_int_equal(gs_nvidia_of_file(root, root, &gpu), -1);
	assert_int_equal(gs_nvidia_of_file(root, "/nonexistent", &gpu), -1);
	assert_int_equal(gs_nvidia_of_file(root, NULL, &gpu), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_minor),
		cmocka_unit_test(test_by_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
