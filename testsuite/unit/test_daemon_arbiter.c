/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arbiters of a live gpushared, sleeping and polling: asked through the page, asked without
 * end, by nobody for long, by clients that must go. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "live_util.h"

#define DEADLINE_MS 300

/* Two GPUs. */
static int setup(void **state, const char *arbiter)
{
	struct live *l;
	FILE *f;

	live_setup(state);
	l = *state;
	live_stop(l, SIGTERM);
	f = fopen(l->conf, "w");
	assert_non_null(f);
	fprintf(f,
		"Socket=%s\nPidFile=%s\nLogFile=%s\nReportToSlurm=no\nAllowLocal=yes\nArbiter=%s\n"
		"Gpu=0 Memory=1000M\nGpu=1 Memory=1000M\nPartition=high Priority=10\n",
		l->socket, l->pid_file, l->log, arbiter);
	assert_int_equal(fclose(f), 0);
	live_start(l);
	return 0;
}

static int setup_poll(void **state)
{
	return setup(state, "poll");
}

static int setup_sleep(void **state)
{
	return setup(state, "sleep");
}

/* Two clients, each of a job of its own, on one GPU or two; the second one is more urgent unless
 * they are equals. */
struct two {
	struct gs_page *page[2];
	int own[2], sock[2];
	uint32_t job[2];
};

/* As live_local() and live_hello(), which have the first GPU only. */
static void come(const struct live *l, uint32_t gpu, const char *partition, struct two *t, int i)
{
	struct gs_error err;
	struct gs_msg msg;
	int fd;

	t->own[i] = live_connect(l);
	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = 10;
	msg.local.gpu = gpu;
	gs_msg_str(msg.local.partition, sizeof(msg.local.partition), partition);
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
	assert_int_not_equal(gs_page_load(t->page[i]->attended), GS_ATTENDED_NOT);
}

enum two_are { ONE_ABOVE, EQUALS, APART };

static void two_come(const struct live *l, enum two_are are, struct two *t)
{
	for (int i = 0; i < 2; i++)
		come(l, are == APART ? (uint32_t)i : 0, are == ONE_ABOVE && i ? "high" : "low", t,
		     i);
}

static void two_go(struct two *t)
{
	for (int i = 0; i < 2; i++) {
		gs_page_unmap(t->page[i]);
		close(t->sock[i]);
		close(t->own[i]);
	}
}

/* A launch in slot 0, asked for through the page; flags as in page.h. */
static void request_as(struct gs_page *page, uint64_t seq, uint32_t flags)
{
	gs_page_store(page->slot[0].started, 0);
	gs_page_store(page->slot[0].done, 0);
	gs_page_store(page->slot[0].nt, 10);
	gs_page_store(page->slot[0].flags, flags);
	gs_page_store(page->slot[0].leave_ns, flags ? 50 * GS_NS_PER_US : 0);
	gs_page_store(page->slot[0].seq, seq);
	gs_page_store(page->used, 1);
	live_move(page, 0, GS_K_PREP, GS_K_READY);
	gs_page_request(page);
}

static void request(struct gs_page *page, uint64_t seq)
{
	request_as(page, seq, GS_SLOT_EVICTABLE);
}

/* Until it is on the GPU. */
static void launch(struct gs_page *page, uint64_t seq)
{
	request(page, seq);
	live_await(page, 0, GS_K_TORUN);
	live_run_slot(page, 0);
}

static void end_launch(struct gs_page *page)
{
	live_end_slot(page, 0, GS_K_RUNNING);
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

/* An arbiter that polls takes nearly all of a processor, one that does not a few percent; 7 were
 * seen under the address sanitizer. */
#define LITTLE 20

/* Less than that, for once: where processors are virtual, what another one takes meanwhile counts
 * as had. */
static int takes_less(const struct live *l, double percent)
{
	double took = 0;

	for (int i = 0; i < 5; i++) {
		took = busy(l, 500);
		if (took < percent)
			return 1;
	}
	print_message("%.1f %% of a processor, not %.1f\n", took, percent);
	return 0;
}

/* No message is sent: the page's word alone. */
static void test_requested_through_the_page(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, ONE_ABOVE, &t);
	launch(t.page[0], 0);
	for (uint64_t seq = 0; seq < 50; seq++) {
		request(t.page[1], seq);
		live_await(t.page[0], 0, GS_K_TOEVICT);
		live_move(t.page[0], 0, GS_K_TOEVICT, GS_K_READY);
		live_await(t.page[1], 0, GS_K_TORUN);
		live_run_slot(t.page[1], 0);
		end_launch(t.page[1]);
		live_await(t.page[0], 0, GS_K_TORUN);
		live_run_slot(t.page[0], 0);
	}
	two_go(&t);
	live_serves(l);
}

/* Ask without end; hostile: and write what nobody may believe. */
static pid_t flood(struct gs_page *page, int hostile)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		for (uint32_t i = 0;; i++) {
			if (hostile) {
				gs_page_store(page->requested, i * 2654435761u);
				gs_page_store(page->attended, i);
			}
			gs_page_request(page);
		}
	}
	return pid;
}

static void end_flood(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_requesting_without_end(void **state)
{
	struct live *l = *state;

	for (int hostile = 0; hostile < 2; hostile++) {
		struct two t;
		pid_t pid;

		two_come(l, ONE_ABOVE, &t);
		pid = flood(t.page[0], hostile);
		for (uint64_t seq = 0; seq < 20; seq++) {
			launch(t.page[1], seq);
			end_launch(t.page[1]);
			live_serves(l);
		}
		end_flood(pid);
		two_go(&t);
	}
	live_serves(l);
}

/* It takes its own processor; of the arbiter's, which sleeps, a few percent. */
static void test_requesting_without_end_takes_little(void **state)
{
	struct live *l = *state;
	struct two t;
	pid_t pid;
	int little;

	two_come(l, ONE_ABOVE, &t);
	pid = flood(t.page[0], 0);
	little = takes_less(l, 15);
	end_flood(pid);
	two_go(&t);
	assert_true(little);
}

/* Who has had the GPU last keeps its time slice, and nobody polls for that. */
static void test_idle_clients(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, ONE_ABOVE, &t);
	for (int i = 0; i < 2; i++) {
		launch(t.page[i], 0);
		end_launch(t.page[i]);
	}
	usleep(50000);
	assert_true(takes_less(l, LITTLE));
	launch(t.page[0], 1); /* it is there again at once */
	end_launch(t.page[0]);
	two_go(&t);
}

static void test_nobody_shares(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, APART, &t);
	for (int i = 0; i < 2; i++)
		launch(t.page[i], 0);
	assert_true(takes_less(l, LITTLE));
	for (int i = 0; i < 2; i++)
		end_launch(t.page[i]);
	two_go(&t);
}

/* Equals whose kernels cannot leave have the GPU beside each other: there is nothing to see at
 * once. */
static void test_side_by_side(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, EQUALS, &t);
	for (int i = 0; i < 2; i++) {
		request_as(t.page[i], 0, 0);
		live_await(t.page[i], 0, GS_K_TORUN);
		live_run_slot(t.page[i], 0);
	}
	assert_true(takes_less(l, LITTLE));
	for (int i = 0; i < 2; i++)
		end_launch(t.page[i]);
	two_go(&t);
}

/* While one waits for the other the arbiter polls, its processor time says so, and the status. */
static void test_polls_while_one_waits(void **state)
{
	struct live *l = *state;
	char is[64];
	struct two t;

	two_come(l, ONE_ABOVE, &t);
	launch(t.page[0], 0);
	request(t.page[1], 0);
	live_await(t.page[0], 0, GS_K_TOEVICT);
	live_status_gpu(l, "arbiter", is, sizeof(is));
	assert_string_equal(is, "polls");
	assert_int_equal(gs_page_load(t.page[1]->attended), GS_ATTENDED_AWAKE);
	live_move(t.page[0], 0, GS_K_TOEVICT, GS_K_READY);
	live_await(t.page[1], 0, GS_K_TORUN);
	live_run_slot(t.page[1], 0);
	end_launch(t.page[1]);
	live_await(t.page[0], 0, GS_K_TORUN);
	live_run_slot(t.page[0], 0);
	usleep(50000);
	live_status_gpu(l, "arbiter", is, sizeof(is));
	assert_string_equal(is, "sleeps");
	assert_int_equal(gs_page_load(t.page[1]->attended), GS_ATTENDED);
	two_go(&t);
}

/* What the arbiter finds and may not do itself, the loop does. */
static void test_a_page_that_cannot_be(void **state)
{
	struct live *l = *state;
	struct two t;

	two_come(l, ONE_ABOVE, &t);
	gs_page_store(t.page[0]->slot[3].seq, 7);
	gs_page_store(t.page[0]->slot[3].state, 77);
	gs_page_request(t.page[0]);
	live_expect_closed(dup(t.sock[0]));
	live_await_log(l, "its page has the invalid launch state 77");
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

/* A short deadline: for one test alone, as the others' clients are this very process. */
static void kill_the_overdue(struct live *l)
{
	FILE *f = fopen(l->conf, "a");

	assert_non_null(f);
	fprintf(f, "EvictDeadline=%dms\nEvictOverdue=kill\n", DEADLINE_MS);
	assert_int_equal(fclose(f), 0);
	kill(l->pid, SIGHUP);
	live_await_log(l, "reloaded /");
}

/* As with a bad page; once the machine may be busy with something else. */
static void test_overdue(void **state)
{
	struct live *l = *state;
	unsigned late = 0;

	kill_the_overdue(l);
	for (int i = 0; i < 4; i++) {
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
		while (waitpid(pid, &status, WNOHANG) == 0 &&
		       gs_clock_ns() - began < 20 * GS_NS_PER_S)
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

#define WAITING 64

/* Many wait for one that leaves; each of them gets its time slice in the end. */
static void test_waiting_together(void **state)
{
	struct live *l = *state;
	struct gs_page *page[WAITING + 1];
	uint32_t low, high;
	int own[2] = { live_local(l, 40, 0, "low", &low), live_local(l, 40, 0, "high", &high) };
	int sock[WAITING + 1], gone = 0;

	for (int i = 0; i <= WAITING; i++) {
		sock[i] = live_hello(l, i ? high : low, &page[i], NULL);
		request(page[i], 0);
		if (i)
			continue;
		live_await(page[0], 0, GS_K_TORUN);
		live_run_slot(page[0], 0);
	}
	live_await(page[0], 0, GS_K_TOEVICT);
	live_move(page[0], 0, GS_K_TOEVICT, GS_K_READY);
	for (int i = 1; gone < WAITING; i = i % WAITING + 1) {
		if (sock[i] < 0 || gs_page_load(page[i]->slot[0].state) != GS_K_TORUN)
			continue;
		live_run_slot(page[i], 0);
		live_end_slot(page[i], 0, GS_K_RUNNING);
		close(sock[i]);
		sock[i] = -1;
		gone++;
	}
	live_await(page[0], 0, GS_K_TORUN);
	close(sock[0]);
	for (int i = 0; i <= WAITING; i++)
		gs_page_unmap(page[i]);
	for (int i = 0; i < 2; i++)
		close(own[i]);
	live_serves(l);
}

/* Clients come and go, one of them asks, and the daemon ends in the middle of it. */
static void test_stopping(void **state)
{
	struct live *l = *state;

	for (int i = 0; i < 5; i++) {
		struct two t;
		int status;
		pid_t pid;

		two_come(l, ONE_ABOVE, &t);
		launch(t.page[0], 0);
		pid = flood(t.page[1], 1);
		usleep(20000);
		status = live_stop(l, i == 4 ? SIGINT : SIGTERM);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		end_flood(pid);
		two_go(&t);
		live_start(l);
	}
	live_serves(l);
}

#define POLL(f) \
	{ \
#f " (poll)", f, setup_poll, live_teardown, NULL \
	}
#define SLEEP(f) \
	{ \
#f " (sleep)", f, setup_sleep, live_teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		POLL(test_requested_through_the_page),
		SLEEP(test_requested_through_the_page),
		POLL(test_requesting_without_end),
		SLEEP(test_requesting_without_end),
		SLEEP(test_requesting_without_end_takes_little),
		POLL(test_idle_clients),
		SLEEP(test_idle_clients),
		POLL(test_nobody_shares),
		POLL(test_side_by_side),
		POLL(test_polls_while_one_waits),
		POLL(test_a_page_that_cannot_be),
		SLEEP(test_a_page_that_cannot_be),
		POLL(test_overdue),
		SLEEP(test_overdue),
		POLL(test_waiting_together),
		SLEEP(test_waiting_together),
		POLL(test_stopping),
		SLEEP(test_stopping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
