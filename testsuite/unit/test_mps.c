/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Isolation=mps: what gpushared does with MPS, and when one of its processes ends. */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "mps_rig.h"

#define EMULATED "src/device/emu/.libs/libcuda.so.1"

static void test_started_and_ended(void **state)
{
	struct mps_rig *r = *state;
	char want[256], *text;
	struct gs_msg msg;
	struct stat st;
	pid_t control, server;
	int own;

	live_start(&r->l);
	control = mps_pid_of(r, "control.pid");
	server = mps_pid_of(r, "servers");
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
	mps_await_lines(r->l.log, "over: ", 1);

	text = live_query(&r->l, GS_QUERY_STATUS, 0);
	assert_non_null(strstr(text, "\"isolation\": \"mps\""));
	free(text);

	mps_stop_daemon(r);
	assert_int_equal(live_lines(r->record, "quit"), 1);
	assert_int_equal(live_logged(&r->l, "MPS has ended"), 1);
	mps_await_end(control);
	mps_await_end(server);
}

static void write_log(const struct mps_rig *r, const char *file, const char *last)
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
	struct mps_rig *r = *state;
	pid_t control, server;

	live_start(&r->l);
	control = mps_pid_of(r, "control.pid");
	assert_int_equal(kill(control, SIGKILL), 0);
	mps_await_lines(r->record, "start_server ", 2);
	assert_int_equal(live_lines(r->record, "start "), 2);
	assert_int_equal(live_logged(&r->l, "was ended by signal 9"), 1);
	assert_int_not_equal(mps_pid_of(r, "control.pid"), control);

	/* The server alone; what it logged says why. */
	mps_await_lines(r->l.log, "pipes in", 2);
	write_log(r, "server.log", "[ 2026 ] Server encountered a \x01 fatal exception\n");
	server = mps_pid_of(r, "servers");
	assert_int_equal(kill(server, SIGKILL), 0);
	mps_await_end(server);
	mps_await_lines(r->record, "start_server ", 3);
	assert_int_equal(live_lines(r->record, "start "), 2);
	mps_await_lines(r->l.log, "pipes in", 3);
	assert_int_not_equal(mps_pid_of(r, "servers"), server);
	assert_int_equal(
		live_logged(
			&r->l,
			"MPS's log/server.log: [ 2026 ] Server encountered a ? fatal exception"),
		1);
	assert_int_equal(live_logged(&r->l, "MPS's log/server.log: an earlier line"), 11);
}

/* A thread of gpushared beside its first one: it is there, but nobody can watch its end. */
static int unwatchable(const struct mps_rig *r)
{
	char path[64];
	struct dirent *e;
	int tid = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)r->l.pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir)))
		if (atoi(e->d_name) > 0 && atoi(e->d_name) != r->l.pid)
			tid = atoi(e->d_name);
	closedir(dir);
	assert_true(tid > 0);
	return tid;
}

/* MPS names a server that cannot be watched: gpushared goes on asking until it names another. */
static void test_what_cannot_be_watched_is_no_server(void **state)
{
	struct mps_rig *r = *state;
	char path[160];
	pid_t server;

	live_start(&r->l);
	server = mps_pid_of(r, "servers");
	mps_tell(r, "servers", unwatchable(r));
	assert_int_equal(kill(server, SIGKILL), 0);
	mps_await_lines(r->l.log, "cannot watch MPS's server", 1);
	snprintf(path, sizeof(path), "%s/servers", r->dir);
	assert_int_equal(unlink(path), 0);
	mps_await_lines(r->l.log, "pipes in", 2);
	assert_int_not_equal(mps_pid_of(r, "servers"), server);
}

/* gpushared has no descriptor left when the control daemon must be started again. */
static void test_an_unwatched_control_daemon_is_none(void **state)
{
	struct mps_rig *r = *state;
	struct rlimit before, none;

	live_start(&r->l);
	assert_int_equal(prlimit(r->l.pid, RLIMIT_NOFILE, NULL, &before), 0);
	none = (struct rlimit) { 0, before.rlim_max };
	assert_int_equal(prlimit(r->l.pid, RLIMIT_NOFILE, &none, NULL), 0);
	assert_int_equal(kill(mps_pid_of(r, "control.pid"), SIGKILL), 0);
	mps_await_lines(r->l.log, "cannot watch MPS's control daemon", 1);
	assert_int_equal(prlimit(r->l.pid, RLIMIT_NOFILE, &before, NULL), 0);
	mps_await_lines(r->record, "start_server ", 2);
	mps_await_lines(r->l.log, "pipes in", 2);
}

static void test_deaf_one_is_killed(void **state)
{
	struct mps_rig *r = *state;
	pid_t control, server;

	live_start(&r->l);
	control = mps_pid_of(r, "control.pid");
	server = mps_pid_of(r, "servers");
	mps_tell(r, "deaf", 1);
	mps_stop_daemon(r);
	mps_await_end(control);
	mps_await_end(server);
	assert_int_equal(live_logged(&r->l, "MPS does not quit"), 1);
}

static void test_goes_on_for_registered_steps(void **state)
{
	struct mps_rig *r = *state;
	uint32_t job;
	pid_t control;
	int own;

	live_start(&r->l);
	control = mps_pid_of(r, "control.pid");
	own = live_local(&r->l, 40, 0, "", &job);
	mps_stop_daemon(r);
	assert_int_equal(kill(control, 0), 0);
	assert_int_equal(live_lines(r->record, "quit"), 0);
	live_start(&r->l);
	assert_int_equal(live_logged(&r->l, "is known from before"), 1);
	assert_int_equal(mps_pid_of(r, "control.pid"), control);
	assert_int_equal(live_lines(r->record, "start_server "), 1);
	close(own);
}

/* A control daemon that knows of no server for all users. */
static void test_old_driver(void **state)
{
	struct mps_rig *r = *state;
	pid_t control;

	if (geteuid() != 0)
		skip(); /* only root's server can be for all */
	assert_int_equal(mkdir(r->dir, 0755), 0);
	mps_tell(r, "old", 1);
	live_start(&r->l);
	assert_int_equal(live_lines(r->record, "options "), 1);
	assert_int_equal(live_lines(r->record, "options -f -M"),
			 0); /* "-M" alone may be in the folder's random name */
	assert_int_equal(live_logged(&r->l, "MPS does not know -M (unknown option -M)"), 1);
	/* It is remembered. */
	control = mps_pid_of(r, "control.pid");
	assert_int_equal(kill(control, SIGKILL), 0);
	mps_await_lines(r->record, "start_server ", 2);
	assert_int_equal(live_lines(r->record, "options "), 2);
	assert_int_equal(live_logged(&r->l, "MPS does not know -M"), 1);
}

static void test_what_is_missing(void **state)
{
	struct mps_rig *r = *state;
	char said[1024], extra[PATH_MAX + 64], driver[PATH_MAX];

	mps_configure(r, "");
	if (access("/usr/bin/nvidia-cuda-mps-control", F_OK) < 0 &&
	    access("/usr/local/nvidia/bin/nvidia-cuda-mps-control", F_OK) < 0) {
		setenv("PATH", "/no/such/folder", 1);
		assert_int_equal(live_run(r->l.conf, said, sizeof(said)), 1);
		mps_stand_in_first();
		assert_non_null(
			strstr(said, "Isolation=mps: there is no nvidia-cuda-mps-control in PATH"));
	} else {
		print_message(
			"a driver's MPS is here, so what is said without one is not tested\n");
	}

	assert_int_equal(mkdir(r->dir, 0755), 0);
	mps_tell(r, "broken", 1);
	mps_configure(r, "");
	assert_int_equal(live_run(r->l.conf, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "has ended: no GPU was found"));

	if (!realpath(EMULATED, driver)) {
		print_message("the emulated device was not built\n");
		return;
	}
	snprintf(extra, sizeof(extra), "Driver=%s\n", driver);
	mps_configure(r, extra);
	assert_int_equal(live_run(r->l.conf, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "the emulated device's, which has no MPS"));
}

/* The stuck client is a child: the client that MPS knows is its process. */
static pid_t start_stuck(const struct mps_rig *r, uint32_t job)
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

static void stuck(struct mps_rig *r, const char *extra, int terminated)
{
	int one, two, client;
	uint32_t job, other;
	struct gs_page *page;
	char want[96];
	uint64_t requested;
	pid_t pid;

	mps_configure(r, extra);
	live_start(&r->l);
	one = live_local(&r->l, 40, 0, "", &job);
	two = live_local(&r->l, 40, 0, "", &other);
	pid = start_stuck(r, job);
	mps_tell(r, "clients", pid);
	mps_tell(r, "slow", 2);
	client = live_hello(&r->l, other, &page, NULL);
	live_launch(client, page, 0, 1);
	live_await(page, 0, GS_K_TORUN); /* after the deadline it runs beside it */
	mps_await_lines(r->l.log, "have not left after", 1);
	if (terminated) {
		snprintf(want, sizeof(want), "terminate_client %d %d",
			 (int)mps_pid_of(r, "servers"), (int)pid);
		mps_await_lines(r->record, want, 1);
		/* MPS takes its time; the daemon serves meanwhile. */
		requested = gs_clock_ns();
		free(live_query(&r->l, GS_QUERY_STATUS, 0));
		assert_true(gs_clock_ns() - requested < GS_NS_PER_S);
		assert_int_equal(live_lines(r->record, "terminated"), 0);
		mps_await_lines(r->l.log, ": terminated in MPS", 1);
		assert_int_equal(live_lines(r->record, "terminate_client"), 1);
	} else {
		usleep(300000);
		assert_int_equal(live_lines(r->record, "terminate_client"), 0);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	mps_await_lines(r->l.log, "ends with kernels on gpu 0", 1);
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

#define LIVE(test) cmocka_unit_test_setup_teardown(test, mps_setup, mps_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_started_and_ended),
		LIVE(test_started_again),
		LIVE(test_what_cannot_be_watched_is_no_server),
		LIVE(test_an_unwatched_control_daemon_is_none),
		LIVE(test_old_driver),
		LIVE(test_deaf_one_is_killed),
		LIVE(test_goes_on_for_registered_steps),
		LIVE(test_what_is_missing),
		LIVE(test_stuck_client_is_terminated),
		LIVE(test_unless_it_may_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
