/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's namespace is kept in slurmd's, on whichever processors the two were made. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushare/mount/cover.h"
#include "gpushare/mount/namespace.h"

#define NO_NAMESPACE 77
#define PROCESSORS_MAX 4 /* of each pair of which one is tried */

static char root[64], folder[96], sock[96];
static struct gs_mount_plan plan;

static void put(const char *name, const char *text, char *path)
{
	FILE *f;

	snprintf(path, GS_MOUNT_PATH_MAX, "%s/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gsmount.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/gpushared.mounts", root);
	snprintf(sock, sizeof(sock), "%s/gpushared.sock", root);
	assert_int_equal(mkdir(folder, 0755), 0);
	put("shim", "shim", plan.ours[GS_MOUNT_CUDA]);
	put("driver", "driver", plan.driver);
	strcpy(plan.cover[0].path, plan.driver);
	plan.ncover = 1;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static int begin_on(int processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

/* As a task: 0 if it is in the job's namespace, whose driver is the shim. */
static int task(int processor, const cpu_set_t *all)
{
	struct gs_error err = { "" };

	if (begin_on(processor) < 0 || sched_setaffinity(0, sizeof(*all), all) < 0)
		return 1;
	if (gs_mount_join(&plan, folder, sock, 7, &err) == 0)
		return gs_mount_is_covered(&plan, plan.driver) ? 0 : 2;
	fprintf(stderr, "on processor %d: %s\n", processor, err.text);
	return 3;
}

static int ended(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ?
		       WEXITSTATUS(status) :
		       -1;
}

/* As slurmd in a namespace of its own: that of the job is made by one task and joined by another,
 * and given up. */
static int slurmd(int own, int other, const cpu_set_t *all)
{
	struct gs_error err = { "" };
	pid_t child;

	if (begin_on(own) < 0)
		return 1;
	if (unshare(CLONE_NEWNS) < 0)
		return errno == EPERM ? NO_NAMESPACE : 1;
	if (mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		child = fork();
		if (child == 0)
			_exit(task(other, all));
		if (ended(child) != 0)
			return 2;
	}
	child = fork();
	if (child == 0)
		_exit(gs_mount_leave(folder, 7, &err) < 0);
	return ended(child) == 0 ? 0 : 3;
}

static void kept_from_any_processor(void **state)
{
	int processors[PROCESSORS_MAX], n = 0;
	cpu_set_t all;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int i = 0; i < CPU_SETSIZE && n < PROCESSORS_MAX; i++)
		if (CPU_ISSET(i, &all))
			processors[n++] = i;
	for (int i = 0; i < n * n; i++) {
		pid_t child = fork();
		int rc;

		if (child == 0)
			_exit(slurmd(processors[i / n], processors[i % n], &all));
		rc = ended(child);
		if (rc == NO_NAMESPACE)
			skip();
		assert_int_equal(rc, 0);
	}
}

static pid_t begin_task(uint32_t job_id)
{
	struct gs_error err = { "" };
	pid_t child = fork();

	if (child)
		return child;
	alarm(20);
	_exit(gs_mount_join(&plan, folder, sock, job_id, &err) < 0);
}

/* As slurmd, whose user stops a task of job 7 as it begins: those of job 8 do not wait for it. */
static int stopping(useconds_t after)
{
	int status, rc;
	pid_t child;

	if (unshare(CLONE_NEWNS) < 0)
		return errno == EPERM ? NO_NAMESPACE : 1;
	if (mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0)
		return 1;
	if (ended(begin_task(6)) != 0) /* the first one of the node */
		return 2;
	child = begin_task(7);
	usleep(after);
	kill(child, SIGSTOP);
	if (waitpid(child, &status, WUNTRACED) != child)
		return 3;
	rc = ended(begin_task(8)) == 0 ? 0 : 4;
	if (WIFSTOPPED(status)) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return rc;
}

static void stopped_tasks_hold_up_no_other_job(void **state)
{
	(void)state;
	for (useconds_t after = 0; after < 4000; after += 200) {
		pid_t child = fork();
		int rc;

		if (child == 0)
			_exit(stopping(after));
		rc = ended(child);
		if (rc == NO_NAMESPACE)
			skip();
		assert_int_equal(rc, 0);
	}
}

static int says(const char *path, const char *text)
{
	char is[32] = "";
	FILE *f = fopen(path, "r");

	if (f && !fgets(is, sizeof(is), f))
		is[0] = '\0';
	if (f)
		fclose(f);
	if (strcmp(is, text) != 0)
		fprintf(stderr, "%s says '%s', not '%s'\n", path, is, text);
	return strcmp(is, text) == 0;
}

/* The shim is in the driver's place, and the driver is kept. */
static int is_covered_and_kept(void)
{
	char kept[2 * GS_MOUNT_PATH_MAX];

	snprintf(kept, sizeof(kept), "%s/job/real%s", folder, plan.driver);
	return says(plan.driver, "shim") && says(kept, "driver");
}

/* In a namespace that receives the node's mounts, as a service with PrivateMounts=yes; reads a byte
 * from `go` once they are made. */
static int service(int go)
{
	char byte;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return 1;
	if (write(go, "r", 1) != 1 || read(go, &byte, 1) != 1)
		return 2;
	return is_covered_and_kept() ? 0 : 3;
}

/* As gpushared --mounts, on a node whose mounts are shared. */
static int node(void)
{
	char kept[2 * GS_MOUNT_PATH_MAX], byte;
	struct gs_error err = { "" };
	int pair[2], rc;
	pid_t child;

	if (unshare(CLONE_NEWNS) < 0)
		return errno == EPERM ? NO_NAMESPACE : 1;
	if (mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0 ||
	    mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 2;
	child = fork();
	if (child == 0)
		_exit(service(pair[1]));
	if (read(pair[0], &byte, 1) != 1)
		return 3;
	if (gs_mount_cover_node(&plan, folder, sock, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 4;
	}
	if (!is_covered_and_kept() || write(pair[0], "g", 1) != 1)
		return 5;
	rc = ended(child);
	if (rc)
		return 10 + rc;
	/* An older gpushared had covered what it kept as well. */
	snprintf(kept, sizeof(kept), "%s/job/real%s", folder, plan.driver);
	if (mount(plan.ours[GS_MOUNT_CUDA], kept, NULL, MS_BIND, NULL) < 0 || !says(kept, "shim") ||
	    gs_mount_cover_node(&plan, folder, sock, &err) < 0 || !is_covered_and_kept())
		return 7;
	if (gs_mount_uncover_node(folder, &err) < 0 || !says(plan.driver, "driver"))
		return 6;
	return 0;
}

static void kept_where_mounts_are_shared(void **state)
{
	pid_t child = fork();
	int rc;

	(void)state;
	if (child == 0)
		_exit(node());
	rc = ended(child);
	if (rc == NO_NAMESPACE)
		skip();
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(kept_from_any_processor),
					    cmocka_unit_test(stopped_tasks_hold_up_no_other_job),
					    cmocka_unit_test(kept_where_mounts_are_shared) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
