/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of suspended jobs that are awake, and their lines of the state file. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/checkpoint/woken.h"

#define V1 "/freezer/slurm_n/uid_0/job_5/step_0/freezer.state"
#define V2 "/system.slice/slurmstepd.scope/job_5/step_0/user/cgroup.freeze"

static void a_line_comes_back_as_it_was(void **unused)
{
	static const struct gs_woken_line in[] = {
		{ 5, 0, { 4711, 123456789, { 1, "" } } },
		{ 5, 4294967291u, { 4711, UINT64_MAX, { 0, V1 } } },
		{ 5, 4294967292u, { INT32_MAX, 0, { 1, V2 } } },
	};
	char text[GS_STATE_LINE_MAX];
	struct gs_woken_line out;

	(void)unused;
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		assert_true(gs_woken_print(&in[i], text, sizeof(text)) < (int)sizeof(text));
		assert_int_equal(gs_woken_parse(text, &out), 0);
		assert_int_equal(out.job_id, in[i].job_id);
		assert_int_equal(out.step_id, in[i].step_id);
		assert_int_equal(out.woken.pid, in[i].woken.pid);
		assert_true(out.woken.start == in[i].woken.start);
		assert_int_equal(out.woken.how.by_signal, in[i].woken.how.by_signal);
		assert_string_equal(out.woken.how.frozen, in[i].woken.how.frozen);
	}
}

/* A part of a line may look like a whole one only if it says less, never something else. */
static void no_part_of_a_line_is_taken(void **unused)
{
	static const char *const whole[] = { "woken 5 0 4711 123456789 1 -",
					     "woken 5 0 4711 123456789 0 " V1,
					     "woken 5 0 4711 123456789 1 " V2 };
	char part[GS_STATE_LINE_MAX];
	struct gs_woken_line out;

	(void)unused;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		assert_int_equal(gs_woken_parse(whole[i], &out), 0);
		for (size_t n = 0; n < strlen(whole[i]); n++) {
			snprintf(part, sizeof(part), "%.*s", (int)n, whole[i]);
			assert_int_equal(gs_woken_parse(part, &out), -1);
		}
	}
}

static void nonsense_is_refused(void **unused)
{
	static const char *const bad[] = {
		"away 5 0 4711 123456789 1",
		"woken 5 0 1 123456789 1 -", /* pid 1 is nobody's */
		"woken 5 0 0 123456789 1 -",
		"woken 5 0 -4711 123456789 1 -", /* a group */
		"woken 5 0 4711 123456789 2 -",
		"woken 5 0 4711 123456789 -1 -",
		"woken 5 0 4711 123456789 0 -", /* it was not stopped */
		"woken 5 0 4711 -1 1 -",
		"woken 5 0 4711 18446744073709551616 1 -",
		"woken 4294967296 0 4711 123456789 1 -",
		"woken 5 0 4294972007 123456789 1 -",
		"woken -1 0 4711 123456789 1 -",
		"woken 05 0 4711 123456789 1 -",
		" woken 5 0 4711 123456789 1 -",
		"woken  5 0 4711 123456789 1 -",
		"woken 5 0 4711 123456789 1  -",
		"woken 5 0 4711 123456789 1 -\n",
		"woken 5 0 4711 123456789 1 - -",
		"woken 6 0 4711 123456789 0 " V1, /* another job's */
		"woken 5 0 4711 123456789 0 freezer/job_5/step_0/freezer.state",
		"woken 5 0 4711 123456789 0 /freezer/job_5/../job_6/step_0/freezer.state",
		"woken 5 0 4711 123456789 0 /freezer/job_5/step_0/tasks",
	};
	char text[2 * GS_STATE_LINE_MAX] = "woken 5 0 4711 123456789 0 /job_5/";
	struct gs_woken_line out;

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gs_woken_parse(bad[i], &out), -1);
	memset(text + strlen(text), 'x', GS_FROZEN_MAX);
	strcat(text, "/cgroup.freeze");
	assert_int_equal(gs_woken_parse(text, &out), -1);
}

static pid_t sleeper(struct gs_proc *proc)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(gs_proc_read(pid, proc), 0);
	return pid;
}

static int becomes(pid_t pid, int stopped)
{
	for (int i = 0; i < 5000; i++) {
		if (gs_proc_stopped_by_signal(pid) == stopped)
			return 1;
		usleep(1000);
	}
	return 0;
}

static void it_is_put_back_as_it_was(void **unused)
{
	struct gs_woken_list list = { 0 };
	struct gs_proc stopped, awake;
	pid_t pid = sleeper(&stopped), other = sleeper(&awake);
	struct gs_error err;

	(void)unused;
	kill(pid, SIGSTOP);
	assert_true(becomes(pid, 1));
	assert_int_equal(gs_woken_note(&list, 5, pid, stopped.start, &err), 1);
	assert_int_equal(gs_woken_note(&list, 5, pid, stopped.start, &err), 0);
	assert_int_equal(gs_woken_note(&list, 5, other, awake.start, &err), 1);
	assert_int_equal(list.n, 2);
	assert_true(list.woken[0].how.by_signal && !list.woken[1].how.by_signal);
	gs_woken_all(&list, gs_wake_again);
	assert_true(becomes(pid, 0));
	gs_woken_all(&list, gs_stop_again);
	assert_true(becomes(pid, 1));
	usleep(20000);
	assert_false(gs_proc_stopped_by_signal(other));

	/* It is stopped later. */
	kill(other, SIGSTOP);
	assert_true(becomes(other, 1));
	assert_int_equal(gs_woken_note(&list, 5, other, awake.start, &err), 1);
	assert_int_equal(list.n, 2);
	assert_true(list.woken[1].how.by_signal);
	gs_woken_clear(&list);
	assert_int_equal(list.n, 0);
	for (int i = 0; i < 2; i++) {
		kill(i ? other : pid, SIGKILL);
		waitpid(i ? other : pid, NULL, 0);
	}
	assert_int_equal(gs_woken_note(&list, 5, pid, stopped.start, &err), 0);
	assert_int_equal(list.n, 0);
}

/* The line is of a process that has ended, and its number is another one's now. */
static void a_reused_number_is_left_alone(void **unused)
{
	struct gs_woken_list list = { 0 };
	struct gs_woken_line line;
	struct gs_proc proc;
	pid_t pid = sleeper(&proc);
	char text[GS_STATE_LINE_MAX];

	(void)unused;
	snprintf(text, sizeof(text), "woken 5 0 %d %llu 1 -", (int)pid,
		 (unsigned long long)proc.start - 1);
	assert_int_equal(gs_woken_parse(text, &line), 0);
	assert_int_equal(gs_woken_add(&list, &line.woken), 0);
	gs_woken_all(&list, gs_stop_again);
	usleep(20000);
	assert_false(gs_proc_stopped_by_signal(pid));
	kill(pid, SIGSTOP);
	assert_true(becomes(pid, 1));
	gs_woken_all(&list, gs_wake_again);
	usleep(20000);
	assert_true(gs_proc_stopped_by_signal(pid));
	gs_woken_clear(&list);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void there_are_not_too_many(void **unused)
{
	struct gs_woken_list list = { 0 };
	struct gs_woken w = { .start = 1, .how = { 1, "" } };

	(void)unused;
	for (w.pid = 2; w.pid < 2 + GS_WOKEN_MAX; w.pid++) {
		assert_int_equal(gs_woken_add(&list, &w), 0);
		assert_int_equal(gs_woken_add(&list, &w), 0); /* it is there already */
	}
	assert_int_equal(list.n, GS_WOKEN_MAX);
	assert_int_equal(gs_woken_add(&list, &w), -1);
	assert_int_equal(list.n, GS_WOKEN_MAX);
	gs_woken_clear(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_comes_back_as_it_was),
		cmocka_unit_test(no_part_of_a_line_is_taken),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(it_is_put_back_as_it_was),
		cmocka_unit_test(a_reused_number_is_left_alone),
		cmocka_unit_test(there_are_not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
