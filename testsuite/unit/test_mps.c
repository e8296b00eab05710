/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Isolation=mps: gpushared and a stand-in for nvidia-cuda-mps-control, which
 * writes down what it is told (testsuite/stubs).
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
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "live_daemon.h"

#define PATIENCE_NS (20 * GS_NS_PER_S)
#define EMULATED "src/device/emu/.libs/libcuda.so.1"

struct rig {
	struct live l;
	char dir[96], record[128];
};

/* gpushared takes the first control program in its PATH, which is this one's. */
static void stand_in_first(void)
{
	const char *src = getenv("srcdir");
	char folder[PATH_MAX], path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/testsuite/stubs", src ? src : ".");
	assert_non_null(realpath(path, folder));
	snprintf(path, sizeof(path), "%s:/usr/local/bin:/usr/bin:/bin", folder);
	setenv("PATH", path, 1);
}

static void configure(const struct rig *r, const char *extra)
{
	FILE *f = fopen(r->l.conf, "w");

	assert_non_null(f);
	fprintf(f,
		"Socket=%s\nPidFile=%s\nLogFile=%s\nReportToSlurm=no\nAllowLocal=yes\n"
		"EvictDeadline=300ms\nGpu=0 Memory=1000M\nPolicy=rr\nMemoryParameters=check=0\n"
		"Isolation=mps\nMpsDir=%s\n%s",
		r->l.socket, r->l.pid_file, r->l.log, r->dir, extra);
	assert_int_equal(fclose(f), 0);
}

/* A number in a file of the stand-in's. */
static pid_t pid_of(const struct rig *r, const char *file)
{
	char path[160];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

static void tell(const struct rig *r, const char *file, int number)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%d\n", number);
	fclose(f);
}

static void await_lines(const char *file, const char *text, unsigned n)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;

	while (live_lines(file, text) < n && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(live_lines(file, text), n);
}

/* Gone, or a zombie that its new parent, this test, has not reaped. */
static void await_end(pid_t pid)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;

	while (kill(pid, 0) == 0 && waitpid(pid, NULL, WNOHANG) != pid && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(kill(pid, 0), -1);
}

static void stop_server(struct rig *r)
{
	pid_t pid = r->l.pid;

	r->l.pid = 0;
	assert_int_equal(kill(pid, SIGTERM), 0);
	await_end(pid);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	stand_in_first();
	live_begin(&r->l);
	live_stop(&r->l, SIGTERM);
	snprintf(r->dir, sizeof(r->dir), "%s/mps", r->l.dir);
	snprintf(r->record, sizeof(r->record), "%s/record", r->dir);
	configure(r, "");
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	char command[128];
	pid_t pid;

	if (r->l.pid)
		stop_server(r);
	pid = pid_of(r, "control.pid"); /* of a test that left it, or failed */
	if (pid > 0)
		kill(pid, SIGKILL);
	pid = pid_of(r, "servers");
	if (pid > 0)
		kill(pid, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	assert_int_equal(system(command), 0);
	live_end(&r->l);
	free(r);
	return 0;
}

static void test_started_and_ended(void **state)
{
	struct rig *r = *state;
	char want[256], *text;
	struct gs_msg msg;
	struct stat st;
	pid_t control, server;
	int own;

	live_start(&r->l);
	control = pid_of(r, "control.pid");
	server = pid_of(r, "servers");
	assert_true(control > 0 && server > 0);
	snprintf(want, sizeof(want), "start %d %u %s/log none", (int)control, (unsigned)geteuid(),
		 r->dir);
	assert_int_equal(live_lines(r->record, want), 1);
	/* Under root the one server is for all users. */
	assert_int_equal(live_lines(r->record, "options -f -M"), geteuid() == 0);
	assert_int_equal(live_lines(r->record, "options -f"), 1);
	snprintf(want, sizeof(want), "start_server -uid %u", (unsigned)geteuid());
	assert_int_equal(live_lines(r->record, want), 1);
	assert_int_equal(stat(r->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);

	/* What a step's environment has. */
	own = live_connect(&r->l);
	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = 10;
	live_send(own, &msg, -1);
	live_expect(own, &msg, GS_MSG_REGISTERED, NULL);
	snprintf(want, sizeof(want), "CUDA_MPS_PIPE_DIRECTORY=%s\n", r->dir);
	assert_non_null(strstr(msg.registered.env, want));
	close(own);
	await_lines(r->l.log, "over: ", 1);

	text = live_query(&r->l, GS_QUERY_STATUS, 0);
	assert_non_null(strstr(text, "\"isolation\": \"mps\""));
	free(text);

	stop_server(r);
	assert_int_equal(live_lines(r->record, "quit"), 1);
	assert_int_equal(live_logged(&r->l, "MPS has ended"), 1);
	await_end(control);
	await_end(server);
}

static void write_log(const struct rig *r, const char *file, const char *last)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/log/%s", r->dir, file);
	f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		fprintf(f, "an earlier line, of which there are more than fit\n");
	fputs(last, f);
	assert_int_equal(fclose(f), 0);
}

static void test_started_again(void **state)
{
	struct rig *r = *state;
	pid_t control, server;

	live_start(&r->l);
	control = pid_of(r, "control.pid");
	assert_int_equal(kill(control, SIGKILL), 0);
	await_lines(r->record, "start_server ", 2);
	assert_int_equal(live_lines(r->record, "start "), 2);
	assert_int_equal(live_logged(&r->l, "was ended by signal 9"), 1);
	assert_int_not_equal(pid_of(r, "control.pid"), control);

	/* The server alone; what it logged says why. */
	await_lines(r->l.log, "pipes in", 2);
	write_log(r, "server.log", "[ 2026 ] Server encountered a \x01 fatal exception\n");
	server = pid_of(r, "servers");
	assert_int_equal(kill(server, SIGKILL), 0);
	await_end(server);
	await_lines(r->record, "start_server ", 3);
	assert_int_equal(live_lines(r->record, "start "), 2);
	await_lines(r->l.log, "pipes in", 3);
	assert_int_not_equal(pid_of(r, "servers"), server);
	assert_int_equal(
		live_logged(
			&r->l,
			"MPS's log/server.log: [ 2026 ] Server encountered a ? fatal exception"),
		1);
	assert_int_equal(live_logged(&r->l, "MPS's log/server.log: an earlier line"), 11);
}

static void test_deaf_one_is_killed(void **state)
{
	struct rig *r = *state;
	pid_t control, server;

	live_start(&r->l);
	control = pid_of(r, "control.pid");
	server = pid_of(r, "servers");
	tell(r, "deaf", 1);
	stop_server(r);
	await_end(control);
	await_end(server);
	assert_int_equal(live_logged(&r->l, "MPS does not quit"), 1);
}

static void test_goes_on_for_registered_steps(void **state)
{
	struct rig *r = *state;
	uint32_t job;
	pid_t control;
	int own;

	live_start(&r->l);
	control = pid_of(r, "control.pid");
	own = live_local(&r->l, 40, 0, "", &job);
	stop_server(r);
	assert_int_equal(kill(control, 0), 0);
	assert_int_equal(live_lines(r->record, "quit"), 0);
	live_start(&r->l);
	assert_int_equal(live_logged(&r->l, "is known from before"), 1);
	assert_int_equal(pid_of(r, "control.pid"), control);
	assert_int_equal(live_lines(r->record, "start_server "), 1);
	close(own);
}

/* A control daemon that knows of no server for all users. */
static void test_old_driver(void **state)
{
	struct rig *r = *state;
	pid_t control;

	if (geteuid() != 0)
		skip(); /* only root's server can be for all */
	assert_int_equal(mkdir(r->dir, 0755), 0);
	tell(r, "old", 1);
	live_start(&r->l);
	assert_int_equal(live_lines(r->record, "options "), 1);
	assert_int_equal(live_lines(r->record, "options -f -M"),
			 0); /* "-M" alone may be in the folder's random name */
	assert_int_equal(live_logged(&r->l, "MPS does not know -M (unknown option -M)"), 1);
	/* It is remembered. */
	control = pid_of(r, "control.pid");
	assert_int_equal(kill(control, SIGKILL), 0);
	await_lines(r->record, "start_server ", 2);
	assert_int_equal(live_lines(r->record, "options "), 2);
	assert_int_equal(live_logged(&r->l, "MPS does not know -M"), 1);
}

static void test_what_is_missing(void **state)
{
	struct rig *r = *state;
	char said[1024], extra[PATH_MAX + 64], driver[PATH_MAX];

	configure(r, "");
	if (access("/usr/bin/nvidia-cuda-mps-control", F_OK) < 0 &&
	    access("/usr/local/nvidia/bin/nvidia-cuda-mps-control", F_OK) < 0) {
		setenv("PATH", "/no/such/folder", 1);
		assert_int_equal(live_run(r->l.conf, said, sizeof(said)), 1);
		stand_in_first();
		assert_non_null(
			strstr(said, "Isolation=mps: there is no nvidia-cuda-mps-control in PATH"));
	} else {
		print_message(
			"a driver's MPS is here, so what is said without one is not tested\n");
	}

	assert_int_equal(mkdir(r->dir, 0755), 0);
	tell(r, "broken", 1);
	configure(r, "");
	assert_int_equal(live_run(r->l.conf, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "has ended: no GPU was found"));

	if (!realpath(EMULATED, driver)) {
		print_message("the emulated device was not built\n");
		return;
	}
	snprintf(extra, sizeof(extra), "Driver=%s\n", driver);
	configure(r, extra);
	assert_int_equal(live_run(r->l.conf, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "the emulated device's, which has no MPS"));
}

/* The stuck client is a child: the client that MPS knows is its process. */
static pid_t start_stuck(const struct rig *r, uint32_t job)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct gs_page *page;
		int sock = live_hello(&r->l, job, &page, NULL);

		live_launch(sock, page, 0, 1);
		live_await(page, 0, GS_K_TORUN);
		live_move(page, 0, GS_K_TORUN, GS_K_RUNNING);
		gs_page_store(page->slot[0].started, 1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void stuck(struct rig *r, const char *extra, int terminated)
{
	int one, two, client;
	uint32_t job, other;
	struct gs_page *page;
	char want[96];
	uint64_t requested;
	pid_t pid;

	configure(r, extra);
	live_start(&r->l);
	one = live_local(&r->l, 40, 0, "", &job);
	two = live_local(&r->l, 40, 0, "", &other);
	pid = start_stuck(r, job);
	tell(r, "clients", pid);
	tell(r, "slow", 2);
	client = live_hello(&r->l, other, &page, NULL);
	live_launch(client, page, 0, 1);
	live_await(page, 0, GS_K_TORUN); /* after the deadline it runs beside it */
	await_lines(r->l.log, "have not left after", 1);
	if (terminated) {
		snprintf(want, sizeof(want), "terminate_client %d %d", (int)pid_of(r, "servers"),
			 (int)pid);
		await_lines(r->record, want, 1);
		/* MPS takes its time; the daemon serves meanwhile. */
		requested = gs_clock_ns();
		free(live_query(&r->l, GS_QUERY_STATUS, 0));
		assert_true(gs_clock_ns() - requested < GS_NS_PER_S);
		assert_int_equal(live_lines(r->record, "terminated"), 0);
		await_lines(r->l.log, ": terminated in MPS", 1);
		assert_int_equal(live_lines(r->record, "terminate_client"), 1);
	} else {
		usleep(300000);
		assert_int_equal(live_lines(r->record, "terminate_client"), 0);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	await_lines(r->l.log, "ends with kernels on gpu 0", 1);
	gs_page_unmap(page);
	close(client);
	close(one);
	close(two);
}

static void test_stuck_client_is_terminated(void **state)
{
	stuck(*state, "", 1);
}

static void test_unless_it_may_stay(void **state)
{
	stuck(*state, "MpsTerminate=no\n", 0);
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_started_and_ended),
		LIVE(test_started_again),
		LIVE(test_old_driver),
		LIVE(test_deaf_one_is_killed),
		LIVE(test_goes_on_for_registered_steps),
		LIVE(test_what_is_missing),
		LIVE(test_stuck_client_is_terminated),
		LIVE(test_unless_it_may_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
