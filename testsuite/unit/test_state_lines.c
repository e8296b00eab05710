/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of the state file, and what /proc says of processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "gpushare/daemon/base/step.h"
#include "gpushare/proto/comment.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/wake.h"
#include "gpushare/daemon/report/report.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/steps/step_line.h"

static void test_state_lines(void **unused)
{
	static const char *const bad[] = {
		"",
		"step",
		"step 1 2 3",
		"step 1 2 3 4 5 6 0 0 77 88 0",               /* no blank behind it */
		"step 1 2 3 4 5 6 0 0 1 88 0 2 \"low\" \"\"", /* pid 1 registers nothing */
		"step 1 2 3 4 5 6 0 0 -7 88 0 2 \"low\" \"\"",
		"step 1 2 3 4 5 6 0 0 77 88 0 2  \"low\" \"\"",
		" step 1 2 3 4 5 6 0 0 77 88 0 2 \"low\" \"\"",
		"step 01 2 3 4 5 6 0 0 77 88 0 2 \"low\" \"\"",
		"step -1 2 3 4 5 6 0 0 77 88 0 2 \"low\" \"\"",
		"step 1 2 3 4 5 99999999999999999999 0 0 77 88 0 2 \"low\" \"\"",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"\" \"0123456789012345678901234567890123456789012345678901234567890123\"",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"low\"",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"low",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 low \"\"",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"low\"x\"\"",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"low\" \"\" \"\"",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"low\" \"\" \"physics",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"low\" \"\" \"\" 40 20000000",
		"step 1 2 3 4 5 6 0 0 77 88 0 2 \"low\" \"\" \"\" 40 20000000 0",
	};
	struct gs_step_info in = { .job_id = 4026531840u,
				   .step_id = GS_STEP_BATCH,
				   .uid = 1000,
				   .shares = 40,
				   .gpu = 3,
				   .memory = UINT64_C(8) << 30,
				   .priority_set = 1,
				   .priority = 7,
				   .registrant = 4711,
				   .start = 123456789,
				   .local = 1,
				   .sharing.force_ms = GS_FORCE_MS_MAX,
				   .partition = "low",
				   .qos = "urgent",
				   .account = "physics",
				   .tier = 11 };
	struct gs_step_info out;
	char line[GS_STATE_LINE_MAX];

	(void)unused;
	for (int empty = 0; empty < 3; empty++) {
		in.job_shares = empty == 1 ? 0 : 40;
		in.sharing.no_corun = empty != 1;
		in.period.every_ns = empty == 1 ? 20000000 : 0;
		in.period.deadline_ns = empty ? 15000000 : 0;
		if (empty)
			in.partition[0] = in.account[0] = '\0';
		assert_true(gs_state_print(&in, line, sizeof(line)) < (int)sizeof(line));
		assert_int_equal(gs_state_parse(line, &out), 0);
		assert_int_equal(out.job_id, in.job_id);
		assert_int_equal(out.step_id, in.step_id);
		assert_int_equal(out.uid, in.uid);
		assert_int_equal(out.memory, in.memory);
		assert_int_equal(out.priority, in.priority);
		assert_int_equal(out.registrant, in.registrant);
		assert_int_equal(out.start, in.start);
		assert_int_equal(out.local, 1);
		assert_int_equal(out.sharing.force_ms, GS_FORCE_MS_MAX);
		assert_int_equal(out.sharing.no_corun, in.sharing.no_corun);
		assert_string_equal(out.partition, in.partition);
		assert_string_equal(out.qos, in.qos);
		assert_string_equal(out.account, in.account);
		assert_int_equal(out.tier, in.tier);
		assert_int_equal(out.job_shares, in.job_shares);
		assert_int_equal(out.period.every_ns, in.period.every_ns);
		assert_int_equal(out.period.deadline_ns, in.period.deadline_ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gs_state_parse(bad[i], &out), -1);
}

static void test_proc_parse(void **unused)
{
	struct gs_proc p;

	(void)unused;
	assert_int_equal(gs_proc_parse("42 (a) S) b) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 "
				       "1 0 998877 10 20",
				       &p),
			 0);
	assert_int_equal(p.ppid, 7);
	assert_int_equal(p.start, 998877);
	assert_int_equal(gs_proc_parse("42 (a) Z 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 "
				       "1 0 998877 10 20",
				       &p),
			 -1);
	/* Its first thread has ended, another one goes on. */
	assert_int_equal(gs_proc_parse("42 (a) Z 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 "
				       "2 0 998877 10 20",
				       &p),
			 0);
	assert_int_equal(gs_proc_parse("42 (a) S 7 42", &p), -1);
	assert_int_equal(gs_proc_parse("nonsense", &p), -1);
}

static void put_file(const char *root, const char *name, const char *text)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The freezer's files as a frozen control group has them, below a root of the test's own. */
static void freeze(pid_t pid, const char *root, int is)
{
	char path[64], line[512], file[700];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *v1 = strstr(line, ":freezer:");

		line[strcspn(line, "\n")] = '\0';
		if (v1) {
			snprintf(file, sizeof(file), "/freezer%s/freezer.state", v1 + 9);
			put_file(root, file, is ? "FROZEN\n" : "THAWED\n");
		} else if (strncmp(line, "0::", 3) == 0) {
			snprintf(file, sizeof(file), "%s/cgroup.events", line + 3);
			put_file(root, file,
				 is ? "populated 1\nfrozen 1\n" : "populated 1\nfrozen 0\n");
		}
	}
	fclose(f);
}

static void test_stopped(void **unused)
{
	char root[] = "/tmp/gscgroup.XXXXXX", command[64];
	pid_t child = fork();
	int status;

	(void)unused;
	if (child == 0)
		for (;;)
			pause();
	assert_non_null(mkdtemp(root));
	while (gs_proc_stopped(child, root)) /* as it is born */
		usleep(1000);
	assert_int_equal(gs_proc_stopped(getpid(), root), 0);
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_int_equal(gs_proc_stopped(child, root), 1);
	kill(child, SIGCONT);
	for (int i = 0; i < 5000 && gs_proc_stopped(child, root); i++)
		usleep(1000);
	assert_int_equal(gs_proc_stopped(child, root), 0);
	freeze(child, root, 1);
	for (int i = 0; i < 20000 && !gs_proc_stopped(child, root); i++) /* it sleeps again */
		usleep(1000);
	assert_int_equal(gs_proc_stopped(child, root), 1);
	freeze(child, root, 0);
	assert_int_equal(gs_proc_stopped(child, root), 0);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_int_equal(gs_proc_stopped(child, root), 0);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

#define V1 "/slurm_n/uid_0/job_5/step_0"
#define V2 "/system.slice/slurmstepd.scope/job_5/step_0/user"

/* Which file of the freezer is found for these lines of /proc/<pid>/cgroup. */
static void assert_found(const char *root, const char *lines, const char *expected)
{
	char text[512], file[256];

	snprintf(text, sizeof(text), "%s", lines);
	gs_wake_find(text, 5, root, file, sizeof(file));
	assert_string_equal(file, expected);
}

static void test_what_froze(void **unused)
{
	char root[] = "/tmp/gscgroup.XXXXXX", command[64];

	(void)unused;
	assert_non_null(mkdtemp(root));
	put_file(root, "/freezer" V1 "/freezer.self_freezing", "1\n");
	put_file(root, V2 "/cgroup.freeze", "1\n");
	put_file(root, V2 "/task_0/cgroup.freeze", "0\n");
	assert_found(root, "6:freezer:" V1 "\n0::/\n", "/freezer" V1 "/freezer.state");
	assert_found(root, "0::" V2 "/task_0\n", V2 "/cgroup.freeze");
	assert_found(root, "0::" V2 "\n", V2 "/cgroup.freeze");
	/* Not itself told to freeze, another job's, and above the job's. */
	put_file(root, "/freezer" V1 "/freezer.self_freezing", "0\n");
	put_file(root, V2 "/cgroup.freeze", "0\n");
	put_file(root, "/system.slice/slurmstepd.scope/job_5/cgroup.freeze", "1\n");
	put_file(root, "/system.slice/slurmstepd.scope/job_55/step_0/cgroup.freeze", "1\n");
	assert_found(root, "6:freezer:" V1 "\n0::" V2 "/task_0\n", "");
	assert_found(root, "0::/system.slice/slurmstepd.scope/job_55/step_0\n", "");
	assert_found(root, "0::/\n", "");
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

static int has_state(pid_t pid, int stopped)
{
	for (int i = 0; i < 5000; i++) {
		if (gs_proc_stopped_by_signal(pid) == stopped)
			return 1;
		usleep(1000);
	}
	return 0;
}

static void test_wakes_and_stops_again(void **unused)
{
	char root[] = "/tmp/gscgroup.XXXXXX";
	struct gs_woken w, reused;
	struct gs_error err;
	struct gs_proc proc;
	pid_t child = fork();

	(void)unused;
	if (child == 0)
		for (;;)
			pause();
	assert_non_null(mkdtemp(root));
	assert_int_equal(gs_proc_read(child, &proc), 0);
	w = (struct gs_woken) { .pid = child, .start = proc.start };
	gs_wake_inspect(child, 5, root, &w.how);
	assert_int_equal(gs_wake(&w, root, &err), 0);
	gs_stop_again(&w, root);
	usleep(20000);
	assert_false(gs_proc_stopped_by_signal(child)); /* as it was */
	kill(child, SIGSTOP);
	assert_true(has_state(child, 1));
	gs_wake_inspect(child, 5, root, &w.how);
	assert_int_equal(gs_wake(&w, root, &err), 0);
	assert_true(has_state(child, 0));
	/* Its number was another process's before. */
	reused = w;
	reused.start--;
	gs_stop_again(&reused, root);
	usleep(20000);
	assert_false(gs_proc_stopped_by_signal(child));
	gs_stop_again(&w, root);
	assert_true(has_state(child, 1));
	gs_wake_again(&reused, root);
	assert_int_equal(gs_wake(&reused, root, &err), 0);
	usleep(20000);
	assert_true(gs_proc_stopped_by_signal(child));
	gs_wake_again(&w, root);
	assert_true(has_state(child, 0));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(gs_proc_signal(child, w.start, SIGSTOP), -1);
	assert_int_equal(errno, ESRCH);
	rmdir(root);
}

/* Always in the caller's room, who may use that without the answer. */
static void test_names_of_steps(void **unused)
{
	static const struct {
		uint32_t id;
		const char *name;
	} steps[] = { { 0, "0" },
		      { 4000000000u, "4000000000" },
		      { GS_STEP_BATCH, "batch" },
		      { GS_STEP_EXTERN, "extern" },
		      { GS_STEP_INTERACTIVE, "interactive" } };

	(void)unused;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char buf[16];

		memset(buf, 0x55, sizeof(buf));
		assert_ptr_equal(gs_step_name(steps[i].id, buf, sizeof(buf)), buf);
		assert_string_equal(buf, steps[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_steps), cmocka_unit_test(test_state_lines),
		cmocka_unit_test(test_proc_parse),     cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_what_froze),     cmocka_unit_test(test_wakes_and_stops_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
