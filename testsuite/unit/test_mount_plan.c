/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan of the jobs' mounts: what is found, written and read back. */
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

#include "gpushare/mount/find.h"

static char root[64];

static const char *in_root(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *at = path[next++ % 4];

	snprintf(at, sizeof(path[0]), "%s/%s", root, name);
	return at;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_root(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gsplan.XXXXXX");
	assert_non_null(mkdtemp(root));
	assert_int_equal(mkdir(in_root("shim"), 0755), 0);
	put("shim/libcuda.so.1", "shim");
	put("libcuda.so.580", "driver");
	assert_int_equal(symlink("libcuda.so.580", in_root("libcuda.so.1")), 0);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void folder_beside_socket(void **state)
{
	char folder[64];

	(void)state;
	assert_int_equal(gs_mount_folder("/run/x/gpushared.sock", folder, sizeof(folder)), 0);
	assert_string_equal(folder, "/run/x/gpushared.mounts");
	assert_int_equal(gs_mount_folder("/run/x/s", folder, sizeof(folder)), 0);
	assert_string_equal(folder, "/run/x/s.mounts");
	assert_int_equal(gs_mount_folder("/run/x/s", folder, 8), -1);
}

static void driver_is_found_once(void **state)
{
	struct gs_mount_plan plan;
	struct gs_error err;
	size_t n = 0;

	(void)state;
	assert_int_equal(gs_mount_find(in_root("shim"), in_root("libcuda.so.1"), "", &plan, &err),
			 1);
	assert_string_equal(plan.driver, in_root("libcuda.so.1"));
	assert_string_equal(plan.ours[GS_MOUNT_CUDA], in_root("shim/libcuda.so.1"));
	for (size_t i = 0; i < plan.ncover; i++)
		n += strncmp(plan.cover[i].path, root, strlen(root)) == 0;
	assert_int_equal(n, 1);
	/* The shim is no driver, under whichever name. */
	assert_int_equal(symlink("shim/libcuda.so.1", in_root("other.so")), 0);
	assert_true(gs_mount_find(in_root("shim"), in_root("other.so"), "", &plan, &err) >= 0);
	for (size_t i = 0; i < plan.ncover; i++)
		assert_int_not_equal(strncmp(plan.cover[i].path, root, strlen(root)), 0);
	assert_int_equal(gs_mount_find(in_root("nowhere"), "", "", &plan, &err), -1);
}

static size_t of_nvml(const struct gs_mount_plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->ncover; i++)
		n += plan->cover[i].library == GS_MOUNT_NVML &&
		     strncmp(plan->cover[i].path, root, strlen(root)) == 0;
	return n;
}

static void nvml_is_found(void **state)
{
	const char *driver = in_root("libcuda.so.1");
	struct gs_mount_plan plan;
	struct gs_error err;

	(void)state;
	put("nvml.so", "the driver's");
	/* Nothing to put in its place: an installation without it. */
	assert_int_equal(gs_mount_find(in_root("shim"), driver, in_root("nvml.so"), &plan, &err),
			 1);
	assert_string_equal(plan.ours[GS_MOUNT_NVML], "");
	assert_int_equal(of_nvml(&plan), 0);
	put("shim/libnvidia-ml.so.1", "ours");
	assert_int_equal(gs_mount_find(in_root("shim"), driver, in_root("nvml.so"), &plan, &err),
			 1);
	assert_string_equal(plan.ours[GS_MOUNT_NVML], in_root("shim/libnvidia-ml.so.1"));
	assert_int_equal(of_nvml(&plan), 1);
	assert_string_equal(plan.driver, driver);
	/* A name without a folder is looked for in the usual places only. */
	assert_int_equal(gs_mount_find(in_root("shim"), driver, "libnvidia-ml.so.1", &plan, &err),
			 1);
	assert_int_equal(of_nvml(&plan), 0);
	/* JobNvml=no: the plan that is written has nothing of it. */
	assert_int_equal(gs_mount_find(in_root("shim"), driver, in_root("nvml.so"), &plan, &err),
			 1);
	plan.ours[GS_MOUNT_NVML][0] = '\0';
	assert_int_equal(gs_mount_plan_write(in_root("n.mounts"), &plan, &err), 0);
	assert_int_equal(gs_mount_plan_read(in_root("n.mounts"), &plan, &err), 1);
	assert_string_equal(plan.ours[GS_MOUNT_NVML], "");
	assert_int_equal(of_nvml(&plan), 0);
}

static void written_is_read(void **state)
{
	struct gs_mount_plan plan = { .ncover = 3, .library_path = 1 }, read;
	struct gs_error err;

	(void)state;
	strcpy(plan.ours[GS_MOUNT_CUDA], "/a/libcuda.so.1");
	strcpy(plan.driver, "/with a blank/libcuda.so.1");
	strcpy(plan.cover[0].path, plan.driver);
	strcpy(plan.cover[1].path, "/c/libcuda.so.1");
	strcpy(plan.ours[GS_MOUNT_NVML], "/a/libnvidia-ml.so.1");
	plan.cover[2].library = GS_MOUNT_NVML;
	strcpy(plan.cover[2].path, "/c/libnvidia-ml.so.1");
	assert_int_equal(gs_mount_plan_read(in_root("s.mounts"), &read, &err), 0);
	assert_int_equal(gs_mount_plan_write(in_root("s.mounts"), &plan, &err), 0);
	assert_int_equal(gs_mount_plan_read(in_root("s.mounts"), &read, &err), 1);
	assert_memory_equal(&plan, &read, sizeof(plan));
	assert_int_equal(gs_mount_plan_remove(in_root("s.mounts"), &err), 0);
	assert_int_equal(gs_mount_plan_read(in_root("s.mounts"), &read, &err), 0);
	assert_int_equal(gs_mount_plan_remove(in_root("s.mounts"), &err), 0);
}

static void bad_plans_are_refused(void **state)
{
	static const char *const bad[] = {
		"shim /a\ndriver /b\n",
		"shim a\ndriver /b\ncover /b\n",
		"shim /a\ndriver /b\ncover /b\nwhat /c\n",
		"driver /b\ncover /b\n",
		"shim\n",
	};
	struct gs_mount_plan plan;
	struct gs_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("s.mounts/plan", bad[i]);
		assert_int_equal(gs_mount_plan_read(in_root("s.mounts"), &plan, &err), -1);
	}
	put("s.mounts/plan", "shim /a\ndriver /b\ncover /b\n");
	assert_int_equal(gs_mount_plan_read(in_root("s.mounts"), &plan, &err), 1);
	assert_int_equal(chmod(in_root("s.mounts/plan"), 0666), 0);
	assert_int_equal(gs_mount_plan_read(in_root("s.mounts"), &plan, &err), -1);
	assert_non_null(strstr(err.text, "others than root"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folder_beside_socket),  cmocka_unit_test(driver_is_found_once),
		cmocka_unit_test(nvml_is_found),         cmocka_unit_test(written_is_read),
		cmocka_unit_test(bad_plans_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
