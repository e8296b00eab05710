/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared that takes memory back, with a script in place of gpushare-mem: many steps at
 * once, and clients whose memory is on the host while other things happen. */
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "live_util.h"

#define MIB UINT64_C(1048576)

static void program_path(const struct live *l, char *path, size_t size)
{
	snprintf(path, size, "%s/mem", l->dir);
}

/* The daemon anew, which runs that script to move a process's memory. more: further parameters of
 * memory, each with a comma before it. */
static void begin(struct live *l, const char *script, const char *more)
{
	char path[96], extra[256];
	FILE *f;

	program_path(l, path, sizeof(path));
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\ncd %s || exit 1\n%s\n", l->dir, script);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0755), 0);
	live_stop(l, SIGTERM);
	snprintf(extra, sizeof(extra), "MemoryPreempt=checkpoint\nMemoryParameters=program=%s%s\n",
		 path, more);
	live_configure(l, extra);
	live_start(l);
}

static void end(struct live *l)
{
	char path[96];

	live_stop(l, SIGTERM);
	program_path(l, path, sizeof(path));
	unlink(path);
}

/* With one share each, and one share for the step that wants their memory. */
#define STEPS 99
/* Less than it takes to choose each of them within the choice of the one before. */
#define STACK (2u << 20)

/* They have no programs, so each has left as soon as it was told to. */
static void test_any_number_of_steps_leaves(void **state)
{
	struct live *l = *state;
	struct rlimit before, small;
	int own[STEPS], high, client;
	struct gs_page *page;
	uint32_t job;

	assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
	small = (struct rlimit) { STACK, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_STACK, &small), 0);
	begin(l, "exit 0", "");
	assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
	for (int i = 0; i < STEPS; i++)
		own[i] = live_local(l, 1, 10 * MIB, "low", &job);
	high = live_local(l, 1, 1000 * MIB, "high", &job);
	client = live_hello(l, job, &page, NULL);
	assert_int_equal(live_logged(l, "are on the host"), STEPS);
	gs_page_unmap(page);
	close(client);
	close(high);
	for (int i = 0; i < STEPS; i++)
		close(own[i]);
	end(l);
}

/* While the client's memory is on the host nothing of it is read, however others ask. */
static void test_floods_close_nobody_whose_memory_is_on_the_host(void **state)
{
	struct live *l = *state;
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	uint32_t low, high;
	struct gs_page *page;
	struct gs_msg msg;
	int own, sock, other;
	pid_t pid;

	begin(l, "exit 0", "");
	own = live_local(l, 20, 600 * MIB, "low", &low);
	sock = live_hello(l, low, &page, NULL);
	live_alloc(sock, 100 * MIB);
	other = live_local(l, 20, 600 * MIB, "high", &high);
	live_await_log(l, " MiB are on the host");
	/* What one of its threads says that does not wait. */
	gs_msg_init(&msg, GS_MSG_KERNEL, 0);
	snprintf(msg.kernel.name, sizeof(msg.kernel.name), "kernel");
	live_send(sock, &msg, -1);
	pid = live_fork_user();
	if (pid == 0)
		live_ask_for_ever(l, 1);
	while (!live_logged(l, "ask for more than a fifth") && gs_clock_ns() < until)
		usleep(10000);
	if (!live_logged(l, "ask for more than a fifth"))
		print_message("the machine is too busy for a flood\n");
	usleep(200000); /* time for the flooding connections to be read and paused again */
	kill(pid, SIGKILL);
	assert_true(live_has_failed(pid));
	close(other);
	live_await_log(l, "its memory is back");
	live_alloc(sock, MIB);
	gs_page_unmap(page);
	close(sock);
	close(own);
	end(l);
}

/* A client of that job with so much memory, which is a process of its own. */
static pid_t start_client(const struct live *l, uint32_t job, uint64_t bytes)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct gs_page *page;
		int sock;

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not end it */
		sock = live_hello(l, job, &page, NULL);
		if (live_alloc(sock, bytes).granted && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/* The first process has left and ends; the second cannot leave, so the step keeps its memory. */
static void test_who_ends_on_the_host_leaves_its_memory_to_its_step(void **state)
{
	struct live *l = *state;
	uint32_t low, high;
	struct gs_page *page;
	char path[96];
	int own, sock, other;
	pid_t pid;
	FILE *f;

	begin(l,
	      "[ $1 = checkpoint ] || exit 0\n"
	      "mkdir first 2>/dev/null && exit 0\n"
	      "until [ -e go ]; do sleep 0.01; done\n"
	      "exit 1",
	      "");
	own = live_local(l, 20, 600 * MIB, "low", &low);
	sock = live_hello(l, low, &page, NULL);
	live_alloc(sock, 100 * MIB);
	pid = start_client(l, low, 300 * MIB); /* the last one that came goes first */
	other = live_local(l, 20, 600 * MIB, "high", &high);
	live_await_log(l, ": its memory is on the host: ");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	live_serves(l); /* whoever is asked now has seen its end */
	snprintf(path, sizeof(path), "%s/go", l->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	live_await_log(l, "goes on with its memory");
	assert_true(live_alloc(sock, 450 * MIB).granted);
	unlink(path);
	snprintf(path, sizeof(path), "%s/first", l->dir);
	rmdir(path);
	gs_page_unmap(page);
	close(sock);
	close(other);
	close(own);
	end(l);
}

/* For the script: this process does not return, or would. */
static void stuck(const struct live *l, pid_t pid, int is)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/stuck.%d", l->dir, (int)pid);
	if (!is) {
		unlink(path);
		return;
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

/* A step of low priority whose only program has so much memory. */
static pid_t start_step(const struct live *l, uint64_t bytes, int *own)
{
	uint32_t job;

	*own = live_local(l, 10, bytes, "low", &job);
	return start_client(l, job, bytes / 2);
}

/* Two that do not return (they are stopped, for example) are tried in turn for a long time each:
 * that keeps neither others' memory from returning, nor memory from being taken for others. */
static void test_two_who_do_not_return_keep_nobody_waiting(void **state)
{
	struct live *l = *state;
	int own[3], high, sock;
	struct gs_page *page;
	pid_t pid[3];
	uint32_t job;

	begin(l,
	      "[ $1 = restore ] || exit 0\n"
	      "for pid; do :; done\n"
	      "[ -e stuck.$pid ] || exit 0\n"
	      "sleep 3\n"
	      "exit 1",
	      "");
	for (int i = 0; i < 3; i++)
		pid[i] = start_step(l, 200 * MIB, &own[i]);
	for (int i = 0; i < 2; i++)
		stuck(l, pid[i], 1);
	high = live_local(l, 10, 900 * MIB, "high", &job);
	sock = live_hello(l, job, &page, NULL);
	assert_int_equal(live_logged(l, "are on the host"), 3);
	gs_page_unmap(page);
	close(sock);
	close(high);
	live_await_log(l, "goes on with its memory");
	high = live_local(l, 10, 500 * MIB, "high", &job);
	sock = live_hello(l, job, &page, NULL);
	assert_int_equal(live_logged(l, "are on the host"), 4);
	gs_page_unmap(page);
	close(sock);
	close(high);
	for (int i = 0; i < 3; i++) {
		stuck(l, pid[i], 0);
		kill(pid[i], SIGKILL);
		assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
		close(own[i]);
	}
	end(l);
}

/* What moves memory may close its output long before it has ended: the driver's own end may take
 * long, and files are closed one after the other. */
static void test_a_program_that_does_not_end_keeps_nobody_waiting(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t low, high;
	int own, sock, other;
	uint64_t since;

	begin(l, "echo moved; exec >/dev/null 2>&1 3>&-; sleep 4", "");
	own = live_local(l, 20, 600 * MIB, "low", &low);
	sock = live_hello(l, low, &page, NULL);
	other = live_local(l, 20, 600 * MIB, "high", &high);
	live_await_log(l, "its memory is taken back for");
	usleep(500000);
	since = gs_clock_ns();
	live_serves(l);
	assert_true(gs_clock_ns() - since < 2 * GS_NS_PER_S);
	assert_int_equal(live_logged(l, ": its memory is on the host: moved"), 0);
	live_await_log(l, ": its memory is on the host: moved");
	gs_page_unmap(page);
	close(other);
	close(sock);
	close(own);
	end(l);
}

static void wait_for_file(const struct live *l, const char *name)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", l->dir, name);
	while (access(path, F_OK) < 0 && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(unlink(path), 0);
}

/* A gpushare-mem of an earlier daemon may still move memory to the host: whoever brought it back
 * before that is over would find it on the GPU, and then it would be on the host for ever. */
static void test_a_restart_waits_for_a_move_to_the_host(void **state)
{
	struct live *l = *state;
	int own, other, sock;
	struct gs_page *page;
	uint32_t low, high;
	char path[128];

	begin(l,
	      "if [ $1 = checkpoint ]; then touch begun; sleep 3; touch moved\n"
	      "elif [ -e moved ]; then rm moved; touch returned; fi\n"
	      "echo done",
	      "");
	own = live_local(l, 20, 600 * MIB, "low", &low);
	sock = live_hello(l, low, &page, NULL);
	other = live_local(l, 20, 600 * MIB, "high", &high);
	wait_for_file(l, "begun");
	live_stop(l, SIGKILL);
	live_start(l);
	wait_for_file(l, "returned");
	snprintf(path, sizeof(path), "%s/moved", l->dir);
	assert_true(access(path, F_OK) < 0);
	gs_page_unmap(page);
	close(other);
	close(sock);
	close(own);
	end(l);
}

/* Slurm suspends a job whose memory is on the host already: a restart must not bring it back. */
static void test_a_restart_leaves_a_suspended_job_on_the_host(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	int own, sock, admin;
	struct gs_msg msg;
	uint32_t job;
	pid_t other;

	begin(l, "echo done", "\nSuspendMemory=checkpoint\nIdleReclaim=200ms");
	own = live_local(l, 20, 600 * MIB, "low", &job);
	sock = live_hello(l, job, &page, NULL);
	gs_page_store(page->calls.begun, 1);
	gs_page_store(page->calls.ended, 1);
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live_local(l, 20, 600 * MIB, "low", &job);
		pause();
	}
	live_await_log(l, "are on the host");
	admin = live_connect(l);
	gs_msg_init(&msg, GS_MSG_SUSPEND, 1);
	msg.suspend.job_id = job;
	live_send(admin, &msg, -1);
	live_expect(admin, &msg, GS_MSG_OK, NULL);
	close(admin);
	live_stop(l, SIGKILL);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	live_start(l);
	usleep(500000);
	assert_int_equal(live_logged(l, "its memory is back"), 0);
	gs_page_unmap(page);
	close(sock);
	close(own);
	end(l);
}

static int come_back(const struct live *l, uint32_t job, int page_fd)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	msg.hello.used_bytes = 100 * MIB;
	live_send(sock, &msg, page_fd);
	return sock;
}

/* A daemon that has just begun does not know yet what the programs of the steps have. It must not
 * take a step for one without memory, which it would then give to others. */
static void leaves_after_a_restart(struct live *l, int suspend)
{
	struct gs_page *page;
	uint32_t job, other;
	int own, sock, fd, asks;
	struct gs_msg msg;

	begin(l, "echo done", "\nSuspendMemory=checkpoint");
	own = live_local(l, 20, 600 * MIB, "low", &job);
	sock = live_hello(l, job, &page, &fd);
	live_alloc(sock, 100 * MIB);
	live_stop(l, SIGKILL);
	close(sock);
	live_start(l);
	if (suspend) {
		asks = live_connect(l);
		gs_msg_init(&msg, GS_MSG_SUSPEND, 1);
		msg.suspend.job_id = job;
		live_send(asks, &msg, -1);
	} else {
		asks = live_local(l, 20, 600 * MIB, "high", &other);
	}
	usleep(100000); /* until the shim looks for a daemon again */
	sock = come_back(l, job, fd);
	if (suspend)
		live_expect(asks, &msg, GS_MSG_OK, NULL);
	live_await_log(l, "are on the host");
	assert_int_equal(live_logged(l, ": 100 MiB are on the host"), 1);
	gs_page_unmap(page);
	close(fd);
	close(sock);
	close(asks);
	close(own);
	end(l);
}

static void test_a_restart_waits_for_programs_before_it_preempts(void **state)
{
	leaves_after_a_restart(*state, 0);
}

static void test_a_restart_waits_for_programs_before_it_suspends(void **state)
{
	leaves_after_a_restart(*state, 1);
}

/* Until the state file names a program. */
static void await_named(const struct live *l)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	char path[128];

	snprintf(path, sizeof(path), "%s.state", l->socket);
	while (!live_lines(path, "program ") && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(live_lines(path, "program "), 1);
}

/* That one of its launches was seen, by the report. */
static void assert_one_launch(const struct live *l)
{
	char *text = live_query(l, GS_QUERY_REPORT, 0);

	assert_non_null(strstr(text, "\"kernels\": 1,"));
	free(text);
}

/* One that is stopped does not come back until it goes on. Its memory is on the GPU all the time.
 */
static void stays_until_its_program_is_back(struct live *l, int suspend)
{
	struct gs_page *page;
	uint32_t job, other;
	int own, sock, fd, asks;
	struct gs_msg msg;

	begin(l, "echo done", "\nSuspendMemory=checkpoint");
	own = live_local(l, 20, 600 * MIB, "low", &job);
	sock = live_hello(l, job, &page, &fd);
	live_alloc(sock, 100 * MIB);
	live_launch(sock, page, 0, 0);
	live_await(page, 0, GS_K_TORUN);
	live_run_slot(page, 0);
	live_end_slot(page, 0, GS_K_RUNNING);
	await_named(l);
	assert_one_launch(l);
	live_stop(l, SIGTERM);
	close(sock);
	live_start(l);
	assert_one_launch(l);
	if (suspend) {
		asks = live_connect(l);
		gs_msg_init(&msg, GS_MSG_SUSPEND, 1);
		msg.suspend.job_id = job;
		live_send(asks, &msg, -1);
		live_expect(asks, &msg, GS_MSG_REFUSED, NULL);
		assert_non_null(strstr(msg.refused.reason, "has not come back since"));
	} else {
		asks = live_local(l, 20, 600 * MIB, "high", &other);
		live_await_log(l, "1 of its programs have not come back");
		sleep(2);
	}
	assert_int_equal(live_logged(l, "are on the host"), 0);
	/* The next daemon waits for it, too. */
	live_stop(l, SIGTERM);
	close(asks);
	live_start(l);
	asks = live_local(l, 20, 600 * MIB, "high", &other);
	sleep(2);
	assert_int_equal(live_logged(l, "are on the host"), 0);
	assert_one_launch(l);
	sock = come_back(l, job, fd);
	live_await_log(l, ": 100 MiB are on the host");
	assert_one_launch(l);
	gs_page_unmap(page);
	close(fd);
	close(sock);
	close(asks);
	close(own);
	end(l);
}

static void test_memory_of_a_program_that_is_not_back_is_not_taken(void **state)
{
	stays_until_its_program_is_back(*state, 0);
}

static void test_a_job_whose_program_is_not_back_keeps_its_memory_as_it_is_suspended(void **state)
{
	stays_until_its_program_is_back(*state, 1);
}

/* While a program is to leave it has the GPU to itself, until its kernels are over or
 * preempt_timeout is. One whose kernels never are must not have it most of the time so. */
static void test_who_does_not_leave_is_left_alone_for_longer(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t low, high;
	int own, sock, other;

	if (!getenv("CHECK_LONG"))
		skip();
	begin(l, "exit 0", ",preempt_timeout=10s");
	own = live_local(l, 20, 600 * MIB, "low", &low);
	sock = live_hello(l, low, &page, NULL);
	live_launch(sock, page, 0, 1);
	other = live_local(l, 20, 600 * MIB, "high", &high);
	live_await_log(l, "kernels have not ended within preempt_timeout");
	sleep(35);
	assert_int_equal(live_logged(l, "its memory is taken back for"), 1);
	gs_page_unmap(page);
	close(other);
	close(sock);
	close(own);
	end(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_any_number_of_steps_leaves),
		LIVE(test_floods_close_nobody_whose_memory_is_on_the_host),
		LIVE(test_who_ends_on_the_host_leaves_its_memory_to_its_step),
		LIVE(test_a_program_that_does_not_end_keeps_nobody_waiting),
		LIVE(test_a_restart_waits_for_a_move_to_the_host),
		LIVE(test_a_restart_leaves_a_suspended_job_on_the_host),
		LIVE(test_a_restart_waits_for_programs_before_it_preempts),
		LIVE(test_a_restart_waits_for_programs_before_it_suspends),
		LIVE(test_memory_of_a_program_that_is_not_back_is_not_taken),
		LIVE(test_a_job_whose_program_is_not_back_keeps_its_memory_as_it_is_suspended),
		LIVE(test_who_does_not_leave_is_left_alone_for_longer),
		LIVE(test_two_who_do_not_return_keep_nobody_waiting),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
