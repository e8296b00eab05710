/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that use a shared GPU past a real gpushared, as an NVML of the test's own lists them.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "live_memory.h"

#define INIT 1 /* a process that is there and is of no step */

static char list[128];

/* What NVML says from now on: up to three processes with so many MiB each; 0: none. */
static void nvml_lists(pid_t a, pid_t b, pid_t c)
{
	const pid_t pids[] = { a, b, c };
	char fresh[160];
	FILE *f;

	snprintf(fresh, sizeof(fresh), "%s.new", list);
	f = fopen(fresh, "w");
	assert_non_null(f);
	for (size_t i = 0; i < 3; i++)
		if (pids[i])
			fprintf(f, "%d %llu\n", (int)pids[i], (unsigned long long)(300 * MIB));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(rename(fresh, list), 0);
}

static void begin(struct live *l, const char *lines)
{
	char conf[4400], where[4096];

	assert_non_null(getcwd(where, sizeof(where)));
	if (strlen(where) >= 200)
		skip();
	snprintf(list, sizeof(list), "%s/nvml", l->dir);
	nvml_lists(0, 0, 0);
	setenv("FAKE_NVML", list, 1);
	live_stop(l, SIGTERM);
	snprintf(conf, sizeof(conf), "MemoryParameters=check=20ms,nvml=%s/.libs/fake_nvml.so\n%s",
		 where, lines);
	live_configure(l, conf);
	live_start(l);
}

static void end(void)
{
	unlink(list);
	unsetenv("FAKE_NVML");
}

/* A process that the test's step is the ancestor of. */
static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The row of that process in the status; the array is the caller's. */
static json_t *row_of(json_t *status, pid_t pid)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(status, "unmanaged"), i, row)
		if (json_integer_value(json_object_get(row, "pid")) == pid)
			return row;
	return NULL;
}

static json_t *get_status(const struct live *l)
{
	char *text = live_query(l, GS_QUERY_STATUS, 0);
	json_t *status = json_loads(text, 0, NULL);

	assert_non_null(status);
	free(text);
	return status;
}

/* The status in which the process has a row (20 s at most). */
static json_t *await_row(const struct live *l, pid_t pid)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	json_t *status = get_status(l);

	while (!row_of(status, pid)) {
		assert_true(gs_clock_ns() < until);
		json_decref(status);
		usleep(5000);
		status = get_status(l);
	}
	return status;
}

static long integer(json_t *row, const char *key)
{
	return (long)json_integer_value(json_object_get(row, key));
}

static void strangers_are_seen(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	char line[160];
	json_t *status, *row;
	char *metrics;
	uint32_t job;
	pid_t child;
	int own, sock;

	begin(l, "");
	own = live_local(l, 40, 0, "low", &job);
	sock = live_hello(l, job, &page, NULL);
	child = start_child();
	nvml_lists(getpid(), child, INIT);
	status = await_row(l, child);
	row = row_of(status, child);
	assert_int_equal(integer(row, "job"), job);
	assert_int_equal(integer(row, "gpu"), 0);
	assert_int_equal(integer(row, "memory_mb"), 0); /* it is a real */
	assert_true(json_real_value(json_object_get(row, "memory_mb")) == 300);
	assert_string_equal(json_string_value(json_object_get(row, "program")), "test_unmanaged");
	assert_false(json_is_true(json_object_get(row, "killed")));
	row = row_of(status, INIT);
	assert_non_null(row);
	assert_true(json_is_null(json_object_get(row, "job")));
	assert_null(row_of(status, getpid())); /* a client */
	json_decref(status);
	snprintf(line, sizeof(line), "gpu 0: pid %d (test_unmanaged), uid %u, of job L%u.0, uses",
		 (int)child, (unsigned)getuid(), job - GS_LOCAL_JOB_FIRST + 1);
	assert_int_equal(live_logged(l, line), 1);
	assert_int_equal(live_logged(l, "of no step with shares, uses the GPU past gpushare"), 1);
	metrics = live_query(l, GS_QUERY_METRICS, 0);
	assert_non_null(
		strstr(metrics, "gpushare_gpu_unmanaged_processes{gpu=\"0\",UUID=\"\"} 2\n"));
	free(metrics);

	/* Once it is gone it is forgotten. */
	nvml_lists(getpid(), 0, INIT);
	for (uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;;) {
		int there;

		status = get_status(l);
		there = row_of(status, child) != NULL;
		json_decref(status);
		if (!there)
			break;
		assert_true(gs_clock_ns() < until);
		usleep(5000);
	}
	end_child(child);
	gs_page_unmap(page);
	close(sock);
	close(own);
	end();
}

/* A process of another user that calls itself so by the time this returns. */
static pid_t start_named(const char *name)
{
	int named[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(named), 0);
	pid = fork();
	if (pid == 0) {
		if ((getuid() == 0 && setuid(65534) < 0) || prctl(PR_SET_NAME, name) < 0 ||
		    write(named[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	close(named[1]);
	assert_int_equal(read(named[0], &byte, 1), 1);
	close(named[0]);
	return pid;
}

/* Its name makes no program one of MPS's. */
static void names_hide_nobody(void **state)
{
	struct live *l = *state;
	uint32_t job;
	pid_t child;
	int own;

	begin(l, "");
	own = live_local(l, 40, 0, "low", &job);
	child = start_named("nvidia-cuda-mps-server");
	nvml_lists(child, 0, 0);
	json_decref(await_row(l, child));
	end_child(child);
	close(own);
	end();
}

static void names_steer_no_terminal(void **state)
{
	struct live *l = *state;
	json_t *status;
	uint32_t job;
	pid_t child;
	int own;

	begin(l, "");
	own = live_local(l, 40, 0, "low", &job);
	child = start_named("a\xc2\x9b"
			    "2J\xff\x1b");
	nvml_lists(child, 0, 0);
	status = await_row(l, child);
	assert_string_equal(json_string_value(json_object_get(row_of(status, child), "program")),
			    "a?\?2J?\?");
	json_decref(status);
	assert_int_equal(live_logged(l, "(a?\?2J?\?)"), 1);
	end_child(child);
	close(own);
	end();
}

/* A GPU that nobody shares is not ours to watch. */
static void unshared_gpus_are_left_out(void **state)
{
	struct live *l = *state;
	json_t *status;
	uint32_t job;
	int own;

	begin(l, "");
	nvml_lists(INIT, 0, 0);
	usleep(200000);
	status = get_status(l);
	assert_null(row_of(status, INIT));
	json_decref(status);
	own = live_local(l, 40, 0, "low", &job);
	json_decref(await_row(l, INIT));
	close(own);
	end();
}

/* NVML lists this process on two shared GPUs, of which it is a client of one. */
static void clients_of_one_gpu_on_another(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	json_t *status, *row;
	struct gs_msg msg;
	uint32_t job;
	int own, other, sock;

	setenv("FAKE_NVML_COUNT", "2", 1);
	begin(l, "Gpu=1 Memory=1000M\n");
	own = live_local(l, 40, 0, "low", &job);
	sock = live_hello(l, job, &page, NULL);
	other = live_connect(l);
	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = 40;
	msg.local.gpu = 1;
	live_send(other, &msg, -1);
	live_expect(other, &msg, GS_MSG_REGISTERED, NULL);
	nvml_lists(getpid(), 0, 0);
	status = await_row(l, getpid());
	row = row_of(status, getpid());
	assert_int_equal(integer(row, "gpu"), 1);
	assert_int_equal(json_array_size(json_object_get(status, "unmanaged")), 1);
	json_decref(status);
	gs_page_unmap(page);
	close(sock);
	close(other);
	close(own);
	unsetenv("FAKE_NVML_COUNT");
	end();
}

static void killed_if_it_is_a_jobs(void **state)
{
	struct live *l = *state;
	json_t *status;
	uint32_t job;
	pid_t child;
	int own, is;

	begin(l, "Unmanaged=kill\n");
	own = live_local(l, 40, 0, "low", &job);
	child = start_child();
	nvml_lists(child, 0, 0);
	assert_int_equal(waitpid(child, &is, 0), child);
	assert_true(WIFSIGNALED(is) && WTERMSIG(is) == SIGKILL);
	assert_int_equal(live_logged(l, "killed (Unmanaged=kill)"), 1);
	status = get_status(l);
	assert_non_null(json_object_get(status, "unmanaged"));
	json_decref(status);
	close(own);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(strangers_are_seen),
		LIVE(names_hide_nobody),
		LIVE(names_steer_no_terminal),
		LIVE(unshared_gpus_are_left_out),
		LIVE(clients_of_one_gpu_on_another),
		LIVE(killed_if_it_is_a_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
