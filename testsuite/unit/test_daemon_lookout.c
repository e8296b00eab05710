/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lookout of a live gpushared (LookoutCpu=): asked without end, by nobody for long, by clients that must go. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "live_util.h"

#define DEADLINE_MS 300

/* The last one that there is. */
static int processor(void)
{
	cpu_set_t set;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpu = i;
	return cpu;
}

/* Two GPUs, a short deadline. */
static int setup(void **state)
{
	struct live *l;
	FILE *f;

	live_setup(state);
	l = *state;
	live_stop(l, SIGTERM);
	f = fopen(l->conf, "w");
	assert_non_null(f);
	fprintf(f, "Socket=%s\nPidFile=%s\nLogFile=%s\nReportToSlurm=no\nAllowLocal=yes\n"
		"LookoutCpu=%d\nEvictDeadline=%dms\nEvictOverdue=kill\nGpu=0 Memory=1000M\nGpu=1 Memory=1000M\n"
		"Partition=high Priority=10\n", l->socket, l->pid_file, l->log, processor(), DEADLINE_MS);
	assert_int_equal(fclose(f), 0);
	live_start(l);
	return 0;
}

/* Two clients, each of a job of its own, on one GPU or two. */
struct two {
	struct gs_page *page[2];
	int own[2], sock[2];
	uint32_t job[2];
};

/* As live_local() and live_hello(), which have the first GPU only. */
static void come(const struct live *l, uint32_t gpu, struct two *t, int i)
{
	struct gs_error err;
	struct gs_msg msg;
	int fd;

	t->own[i] = live_connect(l);
	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = 10;
	msg.local.gpu = gpu;
	gs_msg_str(msg.local.partition, sizeof(msg.local.partition), i ? "high" : "low");
	live_send(t->own[i], &msg, -1);
	live_expect(t->own[i], &msg, GS_MSG_REGISTERED, NULL);
	t->job[i] = msg.registered.job_id;
	t->sock[i] = live_connect(l);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = t->job[i];
	msg.hello.step_id = 0xffffffffu;
	msg.hello.gpu = gpu;
	gs_msg_str(msg.hello.program, sizeof(msg.hello.program), "test");
	live_send(t->sock[i], &msg, -1);
	live_expect(t->sock[i], &msg, GS_MSG_WELCOME, &fd);
	assert_int_equal(gs_page_map(fd, &t->page[i], &err), 0);
	close(fd);
	assert_int_equal(gs_page_load(t->page[i]->attended), GS_ATTENDED_AWAKE);
}

static void two_come(const struct live *l, int apart, struct two *t)
{
	for (int i = 0; i < 2; i++)
		come(l, apart ? (uint32_t)i : 0, t, i);
}

static void two_go(struct two *t)
{
	for (int i = 0; i < 2; i++) {
		gs_page_unmap(t->page[i]);
		close(t->sock[i]);
		close(t->own[i]);
	}
}

/* A launch in stub 0, asked for through the page, until it is on the GPU. */
static void launch(struct gs_page *page, uint64_t seq)
{
	gs_page_store(page->stub[0].nt, 10);
	gs_page_store(page->stub[0].flags, GS_STUB_EVICTABLE);
	gs_page_store(page->stub[0].seq, seq);
	gs_page_store(page->used, 1);
	live_move(page, 0, GS_K_PREP, GS_K_READY);
	gs_page_ask(page);
	live_await(page, 0, GS_K_TORUN);
	live_run_stub(page, 0);
}

static void end_launch(struct gs_page *page)
{
	live_end_stub(page, 0, GS_K_RUNNING);
	live_move(page, 0, GS_K_DONE, GS_K_PREP);
}

/* What the daemon takes of a processor for so long, percent. */
static double busy(const struct live *l, unsigned ms)
{
	uint64_t began = gs_clock_ns(), had = 0;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(l->pid, &clock), 0);
	for (int i = 0; i < 2; i++) {
		struct timespec ts;

		if (i)
			usleep(ms * 1000);
		assert_int_equal(clock_gettime(clock, &ts), 0);
		had = (uint64_t)ts.tv_sec * GS_NS_PER_S + (uint64_t)ts.tv_nsec - had;
	}
	return 100.0 * (double)had / (double)(gs_clock_ns() - began);
}

/* Less than half of a processor, for once: where that is virtual, what another one takes meanwhile counts as had. */
static int rests(const struct live *l)
{
	for (int i = 0; i < 5; i++)
		if (busy(l, 700) < 50)
			return 1;
	return 0;
}

/* Ask without end, and write what nobody may believe. */
static pid_t flood(struct gs_page *page)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		for (uint32_t i = 0;; i++) {
			gs_page_store(page->asked, i * 2654435761u);
			gs_page_store(page->attended, i);
			gs_page_store(page->cpu, i * 7);
		}
	}
	return pid;
}

static void test_asking_without_end(void **state)
{
	struct live *l = *state;
	struct two t;
	pid_t pid;

	two_come(l, 0, &t);
	pid = flood(t.page[0]);
	for (uint64_t seq = 0; seq < 20; seq++) {
		launch(t.page[1], seq);
		end_launch(t.page[1]);
		live_serves(l);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	two_go(&t);
	live_serves(l);
}

/* Who has had the GPU last keeps its turn, and is looked at now and then. */
static void test_idle_clients(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, 0, &t);
	for (int i = 0; i < 2; i++) {
		launch(t.page[i], 0);
		end_launch(t.page[i]);
	}
	usleep(1300000);
	assert_true(rests(l));
	launch(t.page[0], 1); /* it is there again at once */
	end_launch(t.page[0]);
	two_go(&t);
}

static void test_nobody_shares(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, 1, &t);
	for (int i = 0; i < 2; i++)
		launch(t.page[i], 0);
	assert_true(rests(l));
	for (int i = 0; i < 2; i++)
		end_launch(t.page[i]);
	two_go(&t);
}

/* What the lookout finds and may not do itself, the loop does. */
static void test_a_page_that_cannot_be(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, 0, &t);
	gs_page_store(t.page[0]->stub[3].seq, 7);
	gs_page_store(t.page[0]->stub[3].kstate, 77);
	gs_page_ask(t.page[0]);
	live_expect_closed(dup(t.sock[0]));
	live_await_log(l, "its page holds the state 77");
	launch(t.page[1], 0);
	end_launch(t.page[1]);
	two_go(&t);
}

/* A client with a kernel that never leaves. */
static pid_t stay(const struct live *l, uint32_t job)
{
	struct gs_page *page;
	int ready[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live_hello(l, job, &page, NULL);
		launch(page, 0);
		if (write(ready[1], &c, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* As with a bad page; several times, for the loop may be there by chance, and once the machine may be busy with something else. */
static void test_overdue(void **state)
{
	struct live *l = *state;
	unsigned late = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t began;
		uint32_t job[2];
		int own[2], sock, status = 0;
		struct gs_page *page;
		pid_t pid;

		for (int k = 0; k < 2; k++)
			own[k] = live_local(l, 40, 0, k ? "high" : "low", &job[k]);
		pid = stay(l, job[0]);
		sock = live_hello(l, job[1], &page, NULL);
		began = gs_clock_ns();
		launch(page, 0);
		while (waitpid(pid, &status, WNOHANG) == 0 && gs_clock_ns() - began < 20 * GS_NS_PER_S)
			usleep(2000);
		assert_true(WIFSIGNALED(status));
		late += gs_clock_ns() - began >= (DEADLINE_MS + 500) * GS_NS_PER_MS;
		close(sock);
		gs_page_unmap(page);
		for (int k = 0; k < 2; k++)
			close(own[k]);
	}
	assert_in_range(late, 0, 1);
}

/* Clients come and go, one of them asks, and the daemon ends in the middle of it. */
static void test_stopping(void **state)
{
	struct live *l = *state;

	for (int i = 0; i < 5; i++) {
		struct two t;
		int status;
		pid_t pid;

		two_come(l, 0, &t);
		launch(t.page[0], 0);
		pid = flood(t.page[1]);
		usleep(20000);
		status = live_stop(l, i == 4 ? SIGINT : SIGTERM);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		two_go(&t);
		live_start(l);
	}
	live_serves(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_asking_without_end, setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_idle_clients, setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_nobody_shares, setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_a_page_that_cannot_be, setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_overdue, setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_stopping, setup, live_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
