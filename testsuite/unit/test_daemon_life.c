/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushared starts, reloads, stops and comes back; gpusharectl run starts programs under it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "config.h"
#include "live_util.h"

#define MIB UINT64_C(1048576)

/* ---- its own life ------------------------------------------------------ */

static void test_start_and_stop(void **state)
{
	struct live *l = *state;
	struct stat st;
	int status;

	assert_int_equal(lstat(l->socket, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0666);
	live_serves(l);
	status = live_stop(l, SIGTERM);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(lstat(l->socket, &st), -1);
	assert_int_equal(lstat(l->pid_file, &st), -1);
}

static void test_second_daemon_is_refused(void **state)
{
	struct live *l = *state;
	char said[512];

	assert_int_equal(live_run(l->conf, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "another gpushared"));
	live_serves(l);
	assert_int_equal(access(l->pid_file, F_OK), 0);
}

static void test_bad_configuration_names_the_line(void **state)
{
	struct live *l = *state;
	char said[512], want[256];

	live_stop(l, SIGTERM);
	live_configure(l, "Policy=none-such\n");
	assert_int_not_equal(live_run(l->conf, said, sizeof(said)), 0);
	snprintf(want, sizeof(want), "%s:10: ", l->conf);
	assert_non_null(strstr(said, want));
	/* The file of an earlier version. */
	live_configure(l, "RrQuantum=5ms\n");
	assert_int_not_equal(live_run(l->conf, said, sizeof(said)), 0);
	snprintf(want, sizeof(want),
		 "%s:10: the key RrQuantum is gone; write instead: PolicyParameters=rr_quantum=",
		 l->conf);
	assert_non_null(strstr(said, want));
	assert_int_equal(access(l->socket, F_OK), -1);
}

static void test_stale_socket_is_replaced(void **state)
{
	struct live *l = *state;

	live_stop(l, SIGKILL);
	assert_int_equal(access(l->socket, F_OK), 0);
	live_start(l);
	live_serves(l);
}

static void test_reload(void **state)
{
	struct live *l = *state;
	char policy[32];
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), client;
	struct gs_page *page;

	client = live_hello(l, job, &page, NULL);
	live_configure(l, "Nonsense=1\n");
	kill(l->pid, SIGHUP);
	live_await_log(l, "not reloaded");
	live_status_gpu(l, "policy", policy, sizeof(policy));
	assert_string_equal(policy, "frs");
	live_configure(l, "MemoryCheck=0\n");
	kill(l->pid, SIGHUP);
	live_await_log(l, "the key MemoryCheck is gone; write instead: MemoryParameters=check=");
	live_configure(l, "Policy=piv\n");
	kill(l->pid, SIGHUP);
	live_await_log(l, "reloaded /");
	live_status_gpu(l, "policy", policy, sizeof(policy));
	assert_string_equal(policy, "piv");
	/* Who was there is still served. */
	assert_int_equal(live_alloc(client, MIB).granted, 1);
	live_launch(client, page, 0, 0);
	live_await(page, 0, GS_K_TORUN);
	gs_page_unmap(page);
	close(client);
	close(own);
}

/* ---- a daemon that comes back --------------------------------------------- */

static void test_restart_adopts(void **state)
{
	struct live *l = *state;
	struct gs_page *page, *other;
	struct gs_msg_allocated a;
	struct gs_msg msg;
	struct stat st;
	char path[128];
	uint32_t job, again;
	int page_fd, sock, own, client;

	own = live_local(l, 40, 0, "low", &job);
	sock = live_hello(l, job, &page, &page_fd);
	live_launch(sock, page, 0, 0);
	live_await(page, 0, GS_K_TORUN);
	live_run_slot(page, 0);
	snprintf(path, sizeof(path), "%s.state", l->socket);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);

	live_stop(l, SIGKILL);
	close(sock);
	close(own);
	live_start(l); /* we, who registered the step, are still alive */

	sock = live_connect(l);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	msg.hello.step_id = 0;
	msg.hello.used_bytes = 250 * MIB;
	live_send(sock, &msg, page_fd);
	live_expect(sock, &msg, GS_MSG_WELCOME, NULL);
	assert_int_equal(msg.welcome.reservation, 400 * MIB);
	a = live_alloc(sock, 151 * MIB); /* what it held counts */
	assert_int_equal(a.granted, 0);
	assert_int_equal(a.used, 250 * MIB);
	assert_int_equal(live_alloc(sock, 150 * MIB).granted, 1);
	/* Managed again: a more urgent client gets it off the GPU. */
	assert_int_equal(gs_page_load(page->slot[0].state), GS_K_RUNNING);
	own = live_local(l, 40, 0, "high", &again);
	assert_int_not_equal(again, job);
	client = live_hello(l, again, &other, NULL);
	live_launch(client, other, 0, 0);
	live_await(page, 0, GS_K_TOEVICT);
	gs_page_store(page->slot[0].done, 10);
	live_move(page, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(other, 0, GS_K_TORUN);
	gs_page_unmap(page);
	gs_page_unmap(other);
	close(page_fd);
	close(sock);
	close(client);
	close(own);
}

/* The client, at its next daemon, with the page that it has. */
static int come_back(const struct live *l, uint32_t job, int page_fd)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	msg.hello.step_id = 0;
	live_send(sock, &msg, page_fd);
	live_expect(sock, &msg, GS_MSG_WELCOME, NULL);
	return sock;
}

/* When it launched: a word of earlier versions (page.h). */
static _Atomic uint64_t *was_launched_ns(struct gs_page *page)
{
	return (_Atomic uint64_t *)(void *)((char *)page + offsetof(struct gs_page, preenqueue) -
					    8);
}

/* It is greeted without a word of copies, and has a page without them. */
static int earlier_shim(const struct live *l, uint32_t job, struct gs_page **page, int *page_fd)
{
	int sock = live_connect(l);
	struct gs_error err;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	msg.hello.step_id = 0;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_WELCOME, page_fd);
	assert_int_equal(lseek(*page_fd, 0, SEEK_END), 8192);
	assert_int_equal(gs_page_map(*page_fd, page, &err), 0);
	return sock;
}

/*
 * A shim of an earlier version has words in its page that nobody reads any more, the processor it
 * asks on and when it launched, and comes back to this daemon with them.  It is managed as any
 * other, and heard through its page.
 */
static void test_page_of_an_earlier_shim(void **state)
{
	struct live *l = *state;
	struct gs_page *page, *other;
	uint32_t job, again;
	int page_fd, own = live_local(l, 40, 0, "low", &job),
		     sock = earlier_shim(l, job, &page, &page_fd), urgent, client;

	gs_page_store((&page->requested)[1], 4711);
	gs_page_store(*was_launched_ns(page), UINT64_MAX);
	gs_page_store(page->attended, GS_ATTENDED_AWAKE); /* of the daemon that it had */
	live_stop(l, SIGKILL);
	close(sock);
	close(own);
	live_start(l);
	sock = come_back(l, job, page_fd);
	urgent = live_local(l, 40, 0, "high", &again);
	client = live_hello(l, again, &other, NULL);
	live_launch(client, other, 0, 0); /* it has the GPU */
	live_await(other, 0, GS_K_TORUN);
	live_run_slot(other, 0);
	for (uint64_t seq = 0; seq < 3; seq++) {
		gs_page_store(page->slot[0].nt, 10);
		gs_page_store(page->slot[0].flags, GS_SLOT_EVICTABLE);
		gs_page_store(page->slot[0].seq, seq);
		gs_page_store(*was_launched_ns(page), gs_clock_ns());
		live_move(page, 0, GS_K_PREP, GS_K_READY);
		gs_page_request(page);
		if (seq == 0) {
			live_end_slot(other, 0, GS_K_RUNNING);
			live_move(other, 0, GS_K_DONE, GS_K_PREP);
		}
		live_await(page, 0, GS_K_TORUN);
		live_run_slot(page, 0);
		live_end_slot(page, 0, GS_K_RUNNING);
		live_move(page, 0, GS_K_DONE, GS_K_PREP);
	}
	gs_page_unmap(page);
	gs_page_unmap(other);
	close(page_fd);
	close(sock);
	close(client);
	close(urgent);
}

/* The ms on the GPU that the state file has of the job, which is written now and then; 0: nothing
 * yet. */
static double kept_active_ms(const struct live *l, uint32_t job)
{
	unsigned of;
	unsigned long long active_ns;
	char line[512];
	double ms = 0;
	FILE *f = live_open_state(l, "r");

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "had %u %*u %*u %*u %*u %llu", &of, &active_ns) == 2 && of == job)
			ms = (double)active_ns / GS_NS_PER_MS;
	fclose(f);
	return ms;
}

/* The client has made so many more copies to the host, of 1 MiB and 2 ms each. */
static void copies(struct gs_page *page, uint64_t n)
{
	struct gs_copies_made *made = &page->copies.made[GS_COPY_TO_HOST];

	atomic_fetch_add(&made->copies, n);
	atomic_fetch_add(&made->bytes, n * MIB);
	atomic_fetch_add(&made->host_ns, n * 2 * GS_NS_PER_MS);
}

static void expect_copies(const struct live *l, uint32_t job, uint64_t n)
{
	assert_int_equal(live_figure(l, job, "copies"), n);
	assert_int_equal(live_figure(l, job, "d2h_mb"), n);
	assert_int_equal(live_figure(l, job, "h2d_mb"), 0);
	assert_int_equal(live_figure(l, job, "copying_ms"), 2 * n);
}

/* A daemon that is not there now has left such a line. */
static void leave_line(const struct live *l, const char *line)
{
	FILE *f = live_open_state(l, "a");

	assert_true(fputs(line, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* What a step that goes on has had is in its report whatever becomes of the daemon. */
static void test_restart_keeps_figures(void **state)
{
	struct live *l = *state;
	struct gs_page *page, *first;
	uint32_t job;
	double active;
	char beside[64];
	int page_fd, sock, own;

	live_configure(l, "ReportInterval=100ms\n");
	live_stop(l, SIGTERM);
	live_start(l);
	own = live_local(l, 40, 0, "low", &job);
	sock = live_hello(l, job, &first, NULL);
	live_launch(sock, first, 0, 0);
	live_await(first, 0, GS_K_TORUN);
	live_run_slot(first, 0);
	usleep(100000);
	live_end_slot(first, 0, GS_K_RUNNING);
	live_doorbell(sock);
	assert_int_equal(live_alloc(sock, 150 * MIB).granted, 1);
	copies(first, 5);
	close(sock); /* its launch is over, the next one's goes on */
	gs_page_unmap(first);
	live_await_log(l, ": gone");
	sock = live_hello(l, job, &page, &page_fd);
	live_launch(sock, page, 0, 0);
	live_await(page, 0, GS_K_TORUN);
	live_run_slot(page, 0);
	usleep(100000);
	active = live_figure(l, job, "active_ms");
	assert_true(active > 190);
	copies(page, 2);
	expect_copies(l, job, 7);
	live_stop(l, SIGTERM);
	close(sock);
	snprintf(beside, sizeof(beside), "beside %u 0 5000000 2000000\n", job);
	leave_line(l, beside);
	live_start(l);
	/* The program that is to come back tells of its own once more then. */
	expect_copies(l, job, 7);
	assert_true(live_figure(l, job, "active_ms") >= active);
	assert_int_equal(live_figure(l, job, "kernels"), 2);
	assert_int_equal(live_figure(l, job, "memory_mb"), 150);
	sock = come_back(l, job, page_fd);
	assert_int_equal(live_figure(l, job, "kernels"), 2); /* not 3 */
	copies(page, 1);
	expect_copies(l, job, 8);
	for (int i = 0; i < 4000 && kept_active_ms(l, job) <= active + 100;
	     i++) /* ReportInterval by ReportInterval */
		usleep(5000);
	live_stop(l, SIGKILL);
	close(sock);
	live_start(l);
	assert_true(live_figure(l, job, "active_ms") > active + 100);
	assert_true(live_figure(l, job, "corun_ms") == 5);
	assert_true(live_figure(l, job, "corun_progress") == 0.4);
	assert_int_equal(live_figure(l, job, "kernels"), 2);
	sock = come_back(l, job, page_fd);
	assert_int_equal(live_figure(l, job, "kernels"), 2);
	expect_copies(l, job, 8);
	gs_page_unmap(page);
	close(page_fd);
	close(sock);
	close(own);
}

/* ---- gpusharectl run ------------------------------------------------------- */

/* It says by the file $READY that it may get the signal. */
static int ctl(const struct live *l, const char *script, int sig)
{
	const char *path = getenv("GPUSHARECTL");
	char ready[128];
	int status, null;
	pid_t pid;

	snprintf(ready, sizeof(ready), "%s/ready", l->dir);
	setenv("READY", ready, 1);
	pid = fork();
	if (pid == 0) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(path ? path : "./gpusharectl", "gpusharectl", "--socket", l->socket, "run",
		      "--shares", "30", "--mem", "100M", "--", "sh", "-c", script, (char *)NULL);
		_exit(99);
	}
	if (sig) {
		live_await_log(l, "30 shares of gpu 0, 100 MiB");
		for (int i = 0; i < 4000 && access(ready, F_OK) < 0; i++)
			usleep(5000);
		assert_int_equal(unlink(ready), 0);
		kill(pid, sig);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_ctl_run(void **state)
{
	struct live *l = *state;

	assert_int_equal(
		ctl(l,
		    "test \"$GPUSHARE_SOCKET\" && test $GPUSHARE_STEP_ID = 0 && "
		    "test $GPUSHARE_JOB_ID -gt 4000000000 && test $GPUSHARE_ABSENT = run && exit 3",
		    0),
		3);
	assert_int_equal(ctl(l, "kill -9 $$", 0), 128 + SIGKILL);
	assert_int_equal(ctl(l, "exec /nonexistent/program", 0), 127);
}

static void test_ctl_run_forwards_signals(void **state)
{
	assert_int_equal(ctl(*state,
			     "trap 'exit 7' TERM; : >\"$READY\"; while :; do sleep 0.01; done",
			     SIGTERM),
			 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_start_and_stop),
		LIVE(test_second_daemon_is_refused),
		LIVE(test_bad_configuration_names_the_line),
		LIVE(test_stale_socket_is_replaced),
		LIVE(test_reload),
		LIVE(test_restart_adopts),
		LIVE(test_page_of_an_earlier_shim),
		LIVE(test_restart_keeps_figures),
		LIVE(test_ctl_run),
		LIVE(test_ctl_run_forwards_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
