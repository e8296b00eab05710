/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits in the kernel's device memory controller, on a tree of files that looks like its own. */
#define _GNU_SOURCE
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "gpushare/daemon/memory/dmem_steps.h"

#define GIB (UINT64_C(1) << 30)
#define JOB "/system.slice/slurmstepd.scope/job_12"
#define REGION "drm/0000:3b:00.0/vram0"

static char root[64];

static const char *at(const char *path)
{
	static char full[512];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return full;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(at(path), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *got(const char *path)
{
	static char text[256];
	FILE *f = fopen(at(path), "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void group(const char *path)
{
	char file[256];

	mkdir(at(path), 0755);
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", path);
	put(file, "");
	snprintf(file, sizeof(file), "%s/dmem.max", path);
	put(file, "");
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "test_dmem.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("/cgroup.subtree_control", "cpu memory");
	put("/dmem.capacity", "drm/0000:03:00.0/vram0 8589934592\n"
			      "drm/0000:3b:00.0/stolen 4096\n" REGION " 150323855360\n");
	group("/system.slice");
	put("/system.slice/cgroup.subtree_control", "cpu dmem memory\n");
	group("/system.slice/slurmstepd.scope");
	group(JOB);
	mkdir(at("/proc"), 0755);
	mkdir(at("/proc/77"), 0755);
	put("/proc/77/cgroup", "0::" JOB "/step_batch/slurm\n");
	return 0;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void the_region_of_a_gpu(void **state)
{
	char region[GS_DMEM_REGION_MAX];
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_dmem_region(root, "0000:3B:00.0", region, sizeof(region), &err), 0);
	assert_string_equal(region, REGION);
	assert_int_equal(gs_dmem_region(root, "0000:3c:00.0", region, sizeof(region), &err), -1);
	assert_non_null(strstr(err.text, "has no region of 0000:3c:00.0"));
	assert_int_equal(gs_dmem_region(root, "0000:3b:00.0", region, 8, &err), -1);
	put("/dmem.capacity", "nonsense\n\n0000:3b:00.0 many\n");
	assert_int_equal(gs_dmem_region(root, "0000:3b:00.0", region, sizeof(region), &err), -1);
	unlink(at("/dmem.capacity"));
	assert_int_equal(gs_dmem_region(root, "0000:3b:00.0", region, sizeof(region), &err), -1);
	assert_non_null(strstr(err.text, "No such file"));
}

static int cgroup_of(const char *line, char *cgroup, struct gs_error *err)
{
	char proc[512];

	put("/proc/77/cgroup", line);
	snprintf(proc, sizeof(proc), "%s", at("/proc"));
	return gs_dmem_cgroup(proc, 77, root, 12, cgroup, GS_DMEM_PATH_MAX, err);
}

static void the_cgroup_of_a_job(void **state)
{
	char cgroup[GS_DMEM_PATH_MAX];
	struct gs_error err;

	(void)state;
	assert_int_equal(cgroup_of("0::" JOB "/step_batch/slurm\n", cgroup, &err), 0);
	assert_string_equal(cgroup, JOB);
	/* Also before it has entered its own, and beside groups of version 1. */
	assert_int_equal(cgroup_of("4:freezer:/slurm\n0::/system.slice/slurmstepd.scope/system\n",
				   cgroup, &err),
			 0);
	assert_string_equal(cgroup, JOB);
	assert_int_equal(cgroup_of("0::/user.slice/session-3.scope\n", cgroup, &err), -1);
	assert_non_null(strstr(err.text, "is not Slurm's"));
	assert_int_equal(cgroup_of("0::/slurmstepd.scopes/x\n", cgroup, &err), -1);
	assert_int_equal(cgroup_of("4:freezer:/slurm\n", cgroup, &err), -1);
	assert_non_null(strstr(err.text, "pid 77 is in no cgroup"));
	assert_int_equal(gs_dmem_cgroup("/proc", 77777777, root, 12, cgroup, sizeof(cgroup), &err),
			 -1);
	assert_int_equal(cgroup_of("0::/other.slice/slurmstepd.scope/job_12\n", cgroup, &err), -1);
	assert_non_null(strstr(err.text, "No such file"));
}

static void a_limit_is_set_and_lifted(void **state)
{
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, UINT64_C(20) << 30, &err), 0);
	assert_string_equal(got(JOB "/dmem.max"), REGION " 21474836480");
	/* Handed down on the way, where it was not; the kernel reads one word, a file keeps the
	 * rest. */
	assert_memory_equal(got("/cgroup.subtree_control"), "+dmem", 5);
	assert_string_equal(got("/system.slice/cgroup.subtree_control"), "cpu dmem memory\n");
	assert_string_equal(got("/system.slice/slurmstepd.scope/cgroup.subtree_control"), "+dmem");
	assert_string_equal(got(JOB "/cgroup.subtree_control"), "");
	put(JOB "/dmem.max", "");
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, GS_DMEM_NO_LIMIT, &err), 0);
	assert_string_equal(got(JOB "/dmem.max"), REGION " max");
}

static void what_goes_wrong_is_told(void **state)
{
	struct gs_error err;

	(void)state;
	/* The controller's file is not there: the kernel has not handed it down. */
	unlink(at(JOB "/dmem.max"));
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, 4096, &err), -1);
	assert_non_null(strstr(err.text, "dmem.max: No such file"));
	/* Slurm was faster at the end. */
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, GS_DMEM_NO_LIMIT, &err), 0);
	/* One that may not be written: a folder cannot be, not even by root. */
	mkdir(at(JOB "/dmem.max"), 0755);
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, 4096, &err), -1);
	assert_non_null(strstr(err.text, "dmem.max: Is a directory"));
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, GS_DMEM_NO_LIMIT, &err), -1);
	unlink(at("/system.slice/slurmstepd.scope/cgroup.subtree_control"));
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, 4096, &err), -1);
	assert_non_null(strstr(err.text, "slurmstepd.scope/cgroup.subtree_control"));
}

/* As the daemon sees it without the right to write. */
static void without_permission(void **state)
{
	struct gs_error err;
	int rc;

	(void)state;
	if (geteuid() != 0) {
		print_message("only root can become another user\n");
		skip();
	}
	chmod(root, 0755);
	chmod(at(JOB "/dmem.max"), 0644);
	assert_int_equal(seteuid(65534), 0);
	rc = gs_dmem_limit(root, JOB, REGION, 4096, &err);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(err.text, "Permission denied"));
}

/* ---- the steps of a job ---------------------------------------------------- */

static struct gs_config config;
static struct gs_daemon d;
static struct gs_step step[3];
static struct gs_alloc alloc[2];

static void register_step(int n, uint32_t job, uint32_t id, struct gs_alloc *a)
{
	char proc[512];

	step[n] = (struct gs_step) { .info = { .job_id = job, .step_id = id, .registrant = 77 },
				     .alloc = a };
	TAILQ_INSERT_TAIL(&d.steps, &step[n], link);
	snprintf(proc, sizeof(proc), "%s", at("/proc"));
	gs_dmem_begin(&d, &step[n], proc);
}

static void over(int n)
{
	gs_dmem_end(&d, &step[n]);
	TAILQ_REMOVE(&d.steps, &step[n], link);
	free(step[n].dmem_cgroup);
}

static void prepare(void)
{
	config = (struct gs_config) { .dmem_root = root, .dmem_margin = GIB };
	memset(&d, 0, sizeof(d));
	d.config = &config;
	TAILQ_INIT(&d.steps);
	gs_dmem_device(&d.device[0], &config, "0000:3b:00.0");
	assert_string_equal(d.device[0].dmem, REGION);
	alloc[0] = (struct gs_alloc) { .device = &d.device[0], .bytes = 8 * GIB };
	alloc[1] = (struct gs_alloc) { .device = &d.device[0], .bytes = 4 * GIB };
}

/* The batch step and one within it have 8 GiB, another one has 4 more; all of them are one job's.
 */
static void a_job_has_what_its_steps_have(void **state)
{
	(void)state;
	prepare();
	register_step(0, 12, GS_STEP_BATCH, &alloc[0]);
	assert_string_equal(got(JOB "/dmem.max"), REGION " 9663676416");
	register_step(1, 12, 0, &alloc[0]);
	assert_string_equal(got(JOB "/dmem.max"), REGION " 9663676416");
	register_step(2, 12, 1, &alloc[1]);
	assert_string_equal(got(JOB "/dmem.max"), REGION " 13958643712");
	over(0);
	assert_string_equal(got(JOB "/dmem.max"), REGION " 13958643712");
	put(JOB "/dmem.max", "");
	over(1);
	assert_string_equal(got(JOB "/dmem.max"), REGION " 5368709120");
	put(JOB "/dmem.max", "");
	over(2);
	assert_string_equal(got(JOB "/dmem.max"), REGION " max");
}

/* Said once; the step goes on without. */
static void a_job_without_a_cgroup(void **state)
{
	(void)state;
	prepare();
	register_step(0, 13, GS_STEP_BATCH, &alloc[0]);
	assert_null(step[0].dmem_cgroup);
	assert_true(d.device[0].dmem_said);
	over(0);
	/* `gpusharectl run` has none of its own, and is not looked for. */
	prepare();
	step[0] = (struct gs_step) { .info = { .job_id = 12, .local = 1, .registrant = 77 },
				     .alloc = &alloc[0] };
	TAILQ_INSERT_TAIL(&d.steps, &step[0], link);
	gs_dmem_begin(&d, &step[0], GS_DMEM_PROC);
	assert_null(step[0].dmem_cgroup);
	assert_false(d.device[0].dmem_said);
	/* Nor where the controller does not know the GPU, or the configuration says no. */
	gs_dmem_device(&d.device[0], &config, "0000:99:00.0");
	assert_string_equal(d.device[0].dmem, "");
	config.dmem_root = "";
	gs_dmem_device(&d.device[0], &config, "0000:3b:00.0");
	assert_string_equal(d.device[0].dmem, "");
}

/* Whatever is put below the root: nothing is written by way of a link, nor outside. */
static void no_link_is_followed(void **state)
{
	struct gs_error err;

	(void)state;
	put("/precious", "precious");
	assert_int_equal(unlink(at(JOB "/dmem.max")), 0);
	assert_int_equal(symlink("../../../precious", at(JOB "/dmem.max")), 0);
	assert_int_equal(gs_dmem_limit(root, JOB, REGION, GIB, &err), -1);
	assert_int_equal(symlink("system.slice", at("/other")), 0);
	assert_int_equal(gs_dmem_limit(root, "/other/slurmstepd.scope", REGION, GIB, &err), -1);
	assert_int_equal(gs_dmem_limit(root, "/system.slice/../..", REGION, GIB, &err), -1);
	assert_string_equal(got("/precious"), "precious");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_region_of_a_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(the_cgroup_of_a_job, setup, teardown),
		cmocka_unit_test_setup_teardown(a_limit_is_set_and_lifted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_goes_wrong_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(no_link_is_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(without_permission, setup, teardown),
		cmocka_unit_test_setup_teardown(a_job_has_what_its_steps_have, setup, teardown),
		cmocka_unit_test_setup_teardown(a_job_without_a_cgroup, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
