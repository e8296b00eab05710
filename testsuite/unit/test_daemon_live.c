/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushared itself, started with a configuration of its own and spoken to
 * over raw sockets: by clients that play by the rules and by others.
 */
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
#include "live_daemon.h"

#define MIB UINT64_C(1048576)
#define SOMEBODY 65534 /* an ordinary user, when the tests run as root */

static int setup(void **state)
{
	struct live *l = malloc(sizeof(*l));

	live_begin(l);
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	live_end(*state);
	free(*state);
	return 0;
}

/* A figure of the job's first step in the report. */
static double figure(const struct live *l, uint32_t job, const char *key)
{
	char *text = live_query(l, GS_QUERY_REPORT, job);
	json_t *rows = json_loads(text, 0, NULL);
	double v;

	assert_int_equal(json_array_size(rows), 1);
	assert_non_null(json_object_get(json_array_get(rows, 0), key));
	v = json_number_value(json_object_get(json_array_get(rows, 0), key));
	json_decref(rows);
	free(text);
	return v;
}

static void status_gpu(const struct live *l, const char *key, char *buf, size_t size)
{
	char *text = live_query(l, GS_QUERY_STATUS, 0);
	json_t *s = json_loads(text, 0, NULL), *v;

	v = json_object_get(json_array_get(json_object_get(s, "gpus"), 0), key);
	assert_non_null(v);
	if (json_is_string(v))
		snprintf(buf, size, "%s", json_string_value(v));
	else
		snprintf(buf, size, "%lld", (long long)json_integer_value(v));
	json_decref(s);
	free(text);
}

/* The daemon still serves whoever behaves. */
static void assert_serves(const struct live *l)
{
	free(live_query(l, GS_QUERY_STATUS, 0));
}

/* ---- its own life ------------------------------------------------------ */

static void test_start_and_stop(void **state)
{
	struct live *l = *state;
	struct stat st;
	int status;

	assert_int_equal(lstat(l->socket, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0666);
	assert_serves(l);
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
	assert_serves(l);
	assert_int_equal(access(l->pid_file, F_OK), 0);
}

static void test_bad_configuration_names_the_line(void **state)
{
	struct live *l = *state;
	char said[512], want[160];

	live_stop(l, SIGTERM);
	live_configure(l, "Policy=none-such\n");
	assert_int_not_equal(live_run(l->conf, said, sizeof(said)), 0);
	snprintf(want, sizeof(want), "%s:9: ", l->conf);
	assert_non_null(strstr(said, want));
	assert_int_equal(access(l->socket, F_OK), -1);
}

static void test_stale_socket_is_replaced(void **state)
{
	struct live *l = *state;

	live_stop(l, SIGKILL);
	assert_int_equal(access(l->socket, F_OK), 0);
	live_start(l);
	assert_serves(l);
}

static void await_log(const struct live *l, const char *text)
{
	uint64_t until = gs_clock_ns() + 2 * GS_NS_PER_S;

	while (!live_logged(l, text) && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(live_logged(l, text), 1);
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
	await_log(l, "not reloaded");
	status_gpu(l, "policy", policy, sizeof(policy));
	assert_string_equal(policy, "piv");
	live_configure(l, "Policy=frs\n");
	kill(l->pid, SIGHUP);
	await_log(l, "reloaded /");
	status_gpu(l, "policy", policy, sizeof(policy));
	assert_string_equal(policy, "frs");
	/* Who was there is still served. */
	assert_int_equal(live_alloc(client, MIB).granted, 1);
	live_launch(client, page, 0, 0);
	live_await(page, 0, GS_K_TORUN);
	gs_page_unmap(page);
	close(client);
	close(own);
}

/* ---- who may what ------------------------------------------------------ */

static void test_malformed_packets(void **state)
{
	struct live *l = *state;
	struct gs_msg msg;
	uint32_t job;
	struct gs_page *page;
	int own = live_local(l, 40, 0, "low", &job), good = live_hello(l, job, &page, NULL);
	char junk[20000];
	int sock;

	memset(junk, 0x5a, sizeof(junk));
	sock = live_connect(l);
	assert_int_equal(send(sock, junk, 3, 0), 3);
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "too short"), 1);

	sock = live_connect(l);
	assert_int_equal(send(sock, junk, 400, 0), 400);
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "wrong magic"), 1);

	sock = live_connect(l);
	assert_int_equal(send(sock, junk, sizeof(junk), 0), sizeof(junk));
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "longer than any message"), 1);

	sock = live_connect(l); /* a type that only the daemon sends */
	gs_msg_init(&msg, GS_MSG_WELCOME, 1);
	live_send(sock, &msg, -1);
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "does not travel this way"), 1);

	sock = live_connect(l); /* a string without an end */
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	memset(msg.hello.program, 'x', sizeof(msg.hello.program));
	live_send(sock, &msg, -1);
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "unterminated"), 1);

	sock = live_connect(l); /* nobody's bell */
	live_bell(sock);
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "before HELLO"), 1);

	/* The other client has noticed nothing. */
	assert_int_equal(live_alloc(good, MIB).granted, 1);
	gs_page_unmap(page);
	close(good);
	close(own);
}

static void test_claims(void **state)
{
	struct live *l = *state;
	int ready[2];
	uint32_t job, n;
	pid_t other;

	assert_int_equal(live_hello_refused(l, 123), GS_REFUSED_UNKNOWN_STEP);
	/* Another process's step, of the same user: we do not descend from it. */
	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (other == 0) {
		live_local(l, 40, 0, "low", &job);
		if (write(ready[1], &job, sizeof(job)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	n = (uint32_t)read(ready[0], &job, sizeof(job));
	assert_int_equal(n, sizeof(job));
	assert_int_equal(live_hello_refused(l, job), GS_REFUSED_NOT_YOURS);
	assert_int_equal(live_logged(l, "is not this process's"), 1);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static void test_other_user_is_refused(void **state)
{
	struct live *l = *state;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), status;
	pid_t child;

	if (geteuid() != 0) {
		print_message("skipped: needs root to become another user\n");
		skip();
	}
	child = fork();
	if (child == 0) { /* descends from the registrant, but is another user's */
		if (setuid(SOMEBODY) < 0)
			_exit(2);
		_exit(live_hello_refused(l, job) == GS_REFUSED_NOT_YOURS ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	close(own);
}

static void test_registration_needs_root_and_munge(void **state)
{
	struct live *l = *state;
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_REGISTER, 5);
	gs_msg_str(msg.registration.cred, sizeof(msg.registration.cred), "MUNGE:AwQDAAA:");
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_REFUSED, NULL);
	assert_int_equal(msg.header.tag, 5);
	assert_int_equal(msg.refused.code, GS_REFUSED_NOT_ALLOWED);
	live_expect_closed(sock);
	assert_serves(l);
}

static uint32_t local_refused(const struct live *l, uint32_t shares, uint64_t memory,
			      uint32_t gpu)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = shares;
	msg.local.memory = memory;
	msg.local.gpu = gpu;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_REFUSED, NULL);
	live_expect_closed(sock);
	return msg.refused.code;
}

static void test_no_overbooking(void **state)
{
	struct live *l = *state;
	char taken[16];
	uint32_t a, b;
	int first = live_local(l, 60, 0, "low", &a), second;

	assert_int_equal(local_refused(l, 41, 0, 0), GS_REFUSED_NO_ROOM);
	assert_int_equal(local_refused(l, 40, 1001 * MIB, 0), GS_REFUSED_NO_ROOM);
	assert_int_equal(local_refused(l, 0, 0, 0), GS_REFUSED_NO_ROOM);
	assert_int_equal(local_refused(l, 1, 0, 7), GS_REFUSED_NO_ROOM);
	second = live_local(l, 40, 0, "low", &b);
	assert_int_not_equal(a, b);
	status_gpu(l, "shares_taken", taken, sizeof(taken));
	assert_string_equal(taken, "100");
	close(first);
	/* Its owner left: all of it is free again, within a second. */
	for (int i = 0; i < 100 && strcmp(taken, "40") != 0; i++) {
		usleep(10000);
		status_gpu(l, "shares_taken", taken, sizeof(taken));
	}
	assert_string_equal(taken, "40");
	close(second);
}

static void test_connections_are_bounded(void **state)
{
	struct live *l = *state;
	int status;
	pid_t child = fork();

	if (child == 0) {
		int sock = -1, last;
		char c;

		if (geteuid() == 0 && setuid(SOMEBODY) < 0)
			_exit(2);
		for (int i = 0; i < 128; i++)
			sock = live_connect(l);
		last = live_connect(l);
		if (recv(last, &c, 1, 0) != 0)
			_exit(3); /* number 129 was let in */
		if (recv(sock, &c, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN)
			_exit(4); /* number 128 was not */
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_serves(l);
}

static void test_who_does_not_read_is_closed(void **state)
{
	struct live *l = *state;
	uint32_t job;
	struct gs_page *page;
	int own = live_local(l, 40, 0, "low", &job), sock = live_hello(l, job, &page, NULL);
	struct gs_msg msg;
	int i;

	gs_msg_init(&msg, GS_MSG_ALLOC, 1);
	for (i = 0; i < 200000; i++)
		if (gs_msg_send(sock, &msg, -1) < 0)
			break;
	assert_true(i < 200000);
	assert_int_equal(live_logged(l, "does not read"), 1);
	assert_serves(l);
	gs_page_unmap(page);
	close(sock);
	close(own);
}

static void test_impossible_page_is_closed(void **state)
{
	struct live *l = *state;
	uint32_t job;
	struct gs_page *page, *other;
	int own = live_local(l, 40, 0, "low", &job), sock = live_hello(l, job, &page, NULL);
	int good = live_hello(l, job, &other, NULL);

	gs_page_store(page->stub[5].kstate, 57);
	live_bell(sock);
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "holds the state 57"), 1);
	live_launch(good, other, 0, 0);
	live_await(other, 0, GS_K_TORUN);
	gs_page_unmap(page);
	gs_page_unmap(other);
	close(good);
	close(own);
}

static void test_foreign_descriptor_is_refused(void **state)
{
	struct live *l = *state;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock = live_connect(l);
	int unsealed = memfd_create("not a page", MFD_CLOEXEC);
	struct gs_msg msg;

	assert_int_equal(ftruncate(unsealed, GS_PAGE_SIZE), 0);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	live_send(sock, &msg, unsealed);
	live_expect(sock, &msg, GS_MSG_REFUSED, NULL);
	live_expect_closed(sock);
	assert_serves(l);
	close(unsealed);
	close(own);
}

/* ---- memory ------------------------------------------------------------ */

static void test_memory(void **state)
{
	struct live *l = *state;
	struct gs_msg_allocated a;
	struct gs_msg msg;
	struct gs_page *pa, *pb;
	uint32_t ja, jb;
	int own_a = live_local(l, 40, 0, "low", &ja), own_b = live_local(l, 40, 0, "low", &jb);
	int ca = live_hello(l, ja, &pa, NULL), cb = live_hello(l, jb, &pb, NULL);

	a = live_alloc(ca, 300 * MIB);
	assert_int_equal(a.granted, 1);
	assert_int_equal(a.reservation, 400 * MIB);
	a = live_alloc(ca, 101 * MIB); /* beyond: refused, and the job goes on */
	assert_int_equal(a.granted, 0);
	assert_int_equal(a.used, 300 * MIB);
	assert_int_equal(live_alloc(ca, 100 * MIB).granted, 1);
	assert_int_equal(live_alloc(ca, UINT64_MAX).granted, 0);
	assert_int_equal(live_alloc(cb, 400 * MIB).granted, 1); /* the neighbour has its own */
	gs_msg_init(&msg, GS_MSG_FREE, 0);
	msg.free.bytes = 150 * MIB;
	live_send(ca, &msg, -1);
	a = live_alloc(ca, 150 * MIB);
	assert_int_equal(a.granted, 1);
	assert_true(figure(l, ja, "memory_mb") == 400.0);
	assert_true(figure(l, ja, "reserved_mb") == 400.0);
	/* Gone with its client. */
	close(ca);
	gs_page_unmap(pa);
	ca = live_hello(l, ja, &pa, NULL);
	assert_int_equal(live_alloc(ca, 400 * MIB).granted, 1);
	gs_page_unmap(pa);
	gs_page_unmap(pb);
	close(ca);
	close(cb);
	close(own_a);
	close(own_b);
}

/* ---- turns --------------------------------------------------------------- */

static void run_stub(struct gs_page *page, unsigned i)
{
	live_move(page, i, GS_K_TORUN, GS_K_RUNNING);
	gs_page_store(page->stub[i].started, 1);
}

static void end_stub(struct gs_page *page, unsigned i, uint32_t from)
{
	gs_page_store(page->stub[i].done, gs_page_load(page->stub[i].nt));
	live_move(page, i, from, GS_K_DONE);
}

static void test_preemption(void **state)
{
	struct live *l = *state;
	struct gs_page *low, *high;
	uint32_t jl, jh;
	int own_l = live_local(l, 40, 0, "low", &jl), own_h = live_local(l, 40, 0, "high", &jh);
	int cl = live_hello(l, jl, &low, NULL), ch = live_hello(l, jh, &high, NULL);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_KERNEL, 0);
	msg.kernel.form = 1;
	gs_msg_str(msg.kernel.name, sizeof(msg.kernel.name), "triad\ninjected");
	live_send(cl, &msg, -1);
	live_launch(cl, low, 0, 0);
	live_await(low, 0, GS_K_TORUN);
	run_stub(low, 0);
	for (unsigned round = 1; round <= 3; round++) {
		live_launch(ch, high, round, round - 1);
		live_await(low, 0, GS_K_TOEVICT);
		assert_int_equal(gs_page_load(high->stub[round].kstate), GS_K_READY);
		gs_page_store(low->stub[0].done, 100 * round);
		live_move(low, 0, GS_K_TOEVICT, GS_K_READY);
		live_await(high, round, GS_K_TORUN);
		run_stub(high, round);
		usleep(2000);
		assert_int_equal(gs_page_load(low->stub[0].kstate), GS_K_READY);
		end_stub(high, round, GS_K_RUNNING);
		live_await(low, 0, GS_K_TORUN);
		gs_page_store(low->stub[0].started, 0);
		run_stub(low, 0);
	}
	end_stub(low, 0, GS_K_RUNNING);
	close(cl);
	close(ch);
	usleep(20000);
	assert_true(figure(l, jl, "preemptions") == 3);
	assert_true(figure(l, jh, "preemptions") == 0);
	assert_true(figure(l, jl, "kernels") == 1);
	assert_true(figure(l, jh, "kernels") == 3);
	assert_true(figure(l, jl, "waiting_ms") >= 6);
	assert_true(figure(l, jl, "ntt") > 1);
	assert_true(figure(l, jl, "evict_p50_us") > 0);
	{
		char *text = live_query(l, GS_QUERY_KERNELS, jl);
		json_t *rows = json_loads(text, 0, NULL), *k = json_array_get(rows, 0);

		assert_string_equal(json_string_value(json_object_get(k, "kernel")),
				    "triad?injected");
		assert_int_equal(json_integer_value(json_object_get(k, "preemptions")), 3);
		json_decref(rows);
		free(text);
	}
	gs_page_unmap(low);
	gs_page_unmap(high);
	close(own_l);
	close(own_h);
}

static void test_killed_client_frees_the_gpu(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t job, jv;
	int own = live_local(l, 40, 0, "high", &jv);
	int own2 = live_local(l, 40, 0, "low", &job), client, ready[2];
	uint64_t since;
	pid_t child;
	char c;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) { /* the more urgent one, with the whole reservation, in mid-kernel */
		struct gs_page *p;
		int sock = live_hello(l, jv, &p, NULL);

		live_alloc(sock, 400 * MIB);
		live_launch(sock, p, 0, 0);
		live_await(p, 0, GS_K_TORUN);
		run_stub(p, 0);
		if (write(ready[1], "x", 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	client = live_hello(l, job, &page, NULL);
	live_launch(client, page, 0, 0);
	usleep(20000);
	assert_int_equal(gs_page_load(page->stub[0].kstate), GS_K_READY);
	since = gs_clock_ns();
	kill(child, SIGKILL);
	live_await(page, 0, GS_K_TORUN);
	assert_true(gs_clock_ns() - since < GS_NS_PER_S);
	print_message("killed client: the next one had the GPU after %llu us\n",
		      (unsigned long long)(gs_clock_ns() - since) / 1000);
	waitpid(child, NULL, 0);
	{
		struct gs_page *p;
		int sock = live_hello(l, jv, &p, NULL);

		assert_int_equal(live_alloc(sock, 400 * MIB).granted, 1);
		gs_page_unmap(p);
		close(sock);
	}
	gs_page_unmap(page);
	close(client);
	close(own);
	close(own2);
	close(ready[0]);
	close(ready[1]);
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
	run_stub(page, 0);
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
	assert_int_equal(gs_page_load(page->stub[0].kstate), GS_K_RUNNING);
	own = live_local(l, 40, 0, "high", &again);
	assert_int_not_equal(again, job);
	client = live_hello(l, again, &other, NULL);
	live_launch(client, other, 0, 0);
	live_await(page, 0, GS_K_TOEVICT);
	gs_page_store(page->stub[0].done, 10);
	live_move(page, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(other, 0, GS_K_TORUN);
	gs_page_unmap(page);
	gs_page_unmap(other);
	close(page_fd);
	close(sock);
	close(client);
	close(own);
}

static void test_restart_drops_the_dead(void **state)
{
	struct live *l = *state;
	char taken[16];
	uint32_t job;
	FILE *f;
	char path[128];
	int ready[2];
	pid_t owner;

	assert_int_equal(pipe(ready), 0);
	owner = fork();
	if (owner == 0) {
		live_local(l, 40, 0, "low", &job);
		if (write(ready[1], &job, sizeof(job)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &job, sizeof(job)), sizeof(job));
	live_stop(l, SIGKILL);
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	snprintf(path, sizeof(path), "%s.state", l->socket);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("step of nonsense\n", f);
	fclose(f);
	live_start(l);
	status_gpu(l, "shares_taken", taken, sizeof(taken));
	assert_string_equal(taken, "0");
	assert_int_equal(live_logged(l, "which registered it, is gone"), 1);
	assert_int_equal(live_logged(l, "makes no sense"), 1);
	assert_int_equal(live_hello_refused(l, job), GS_REFUSED_UNKNOWN_STEP);
	close(ready[0]);
	close(ready[1]);
}

/* ---- reports ---------------------------------------------------------------- */

static void test_long_report(void **state)
{
	struct live *l = *state;
	uint32_t job = 0, first = 0;
	json_t *rows;
	char *text;
	int own;

	/* More than are kept, and far more than a socket takes at once. */
	for (int i = 0; i < 1010; i++) {
		own = live_local(l, 1, MIB / 4, "low", &job);
		first = first ? first : job;
		close(own);
	}
	do
		usleep(1000);
	while (live_logged(l, ": over: ") < 1010);
	text = live_query(l, GS_QUERY_REPORT, 0);
	rows = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(rows), 1000);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "job")),
			 first + 10);
	assert_true(strlen(text) > 256 * 1024);
	json_decref(rows);
	free(text);
}

/* ---- changes while jobs run ------------------------------------------------- */

/* POLICY for GPU 0; the refusal's code, 0: done. */
static uint32_t change_policy(const struct live *l, uint32_t gpu, const char *policy)
{
	int sock = live_connect(l);
	struct gs_error err;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_POLICY, 9);
	msg.policy.gpu = gpu;
	gs_msg_str(msg.policy.policy, sizeof(msg.policy.policy), policy);
	live_send(sock, &msg, -1);
	assert_int_equal(gs_msg_recv(sock, &msg, GS_FROM_DAEMON, NULL, &err), 1);
	assert_int_equal(msg.header.tag, 9);
	close(sock);
	return msg.header.type == GS_MSG_OK ? 0 : msg.refused.code;
}

static void change_priority(const struct live *l, uint32_t job, uint32_t priority,
			    enum gs_msg_type answer)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_PRIORITY, 1);
	msg.priority.job_id = job;
	msg.priority.priority = priority;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, answer, NULL);
	close(sock);
}

static void test_policy_is_changed(void **state)
{
	struct live *l = *state;
	char policy[32];
	int status;
	pid_t child;

	assert_int_equal(change_policy(l, 0, "frs"), 0);
	status_gpu(l, "policy", policy, sizeof(policy));
	assert_string_equal(policy, "frs");
	assert_int_equal(live_logged(l, "gpu 0: policy frs instead of piv"), 1);
	assert_int_equal(change_policy(l, 0, "lottery"), GS_REFUSED_BAD_REQUEST);
	assert_int_equal(change_policy(l, 7, "piv"), GS_REFUSED_BAD_REQUEST);
	if (geteuid() == 0) { /* an ordinary user may not */
		child = fork();
		if (child == 0)
			_exit(setuid(SOMEBODY) < 0 ? 2 :
			      change_policy(l, 0, "piv") == GS_REFUSED_NOT_ALLOWED ? 0 : 1);
		waitpid(child, &status, 0);
		assert_int_equal(status, 0);
		/* unless the configuration names it */
		live_configure(l, "SlurmUser=65534\n");
		kill(l->pid, SIGHUP);
		await_log(l, "reloaded /");
		child = fork();
		if (child == 0)
			_exit(setuid(SOMEBODY) < 0 ? 2 : (int)change_policy(l, 0, "srt"));
		waitpid(child, &status, 0);
		assert_int_equal(status, 0);
		assert_int_equal(live_logged(l, "uid 65534"), 2);
		status_gpu(l, "policy", policy, sizeof(policy));
		assert_string_equal(policy, "srt");
	} else {
		print_message("refusing other users: not tried, needs root\n");
	}
}

static void test_priority_is_changed(void **state)
{
	struct live *l = *state;
	struct gs_page *low, *high;
	uint32_t jl, jh;
	char path[128];
	int own_l = live_local(l, 40, 0, "low", &jl), own_h = live_local(l, 40, 0, "high", &jh);
	int cl = live_hello(l, jl, &low, NULL), ch = live_hello(l, jh, &high, NULL);

	live_launch(ch, high, 0, 0);
	live_await(high, 0, GS_K_TORUN);
	run_stub(high, 0);
	live_launch(cl, low, 0, 0);
	usleep(5000);
	assert_int_equal(gs_page_load(high->stub[0].kstate), GS_K_RUNNING);
	change_priority(l, 4242, 50, GS_MSG_REFUSED);
	change_priority(l, jl, 1001, GS_MSG_REFUSED);
	change_priority(l, jl, 50, GS_MSG_OK);
	live_await(high, 0, GS_K_TOEVICT);
	live_move(high, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(low, 0, GS_K_TORUN);
	/* It outlives the daemon. */
	snprintf(path, sizeof(path), "%s.state", l->socket);
	live_stop(l, SIGKILL);
	live_start(l);
	close(own_h);
	close(ch);
	assert_int_equal(live_logged(l, "known from before"), 2);
	assert_int_equal(live_lines(path, " 2 50 "), 1);
	gs_page_unmap(low);
	gs_page_unmap(high);
	close(cl);
	close(own_l);
}

static void test_metrics_file(void **state)
{
	struct live *l = *state;
	char path[128], line[160];
	uint64_t until = gs_clock_ns() + 3 * GS_NS_PER_S;

	snprintf(path, sizeof(path), "%s/g.prom", l->dir);
	snprintf(line, sizeof(line), "MetricsFile=%s/g.prom\nMetricsInterval=20ms\n", l->dir);
	live_configure(l, line);
	kill(l->pid, SIGHUP);
	while (access(path, F_OK) < 0 && gs_clock_ns() < until)
		usleep(5000);
	for (int i = 0; i < 200; i++) /* never a part of it, however often it is replaced */
		assert_int_equal(live_lines(path, "gpushare_gpu_policy_faults_total{gpu=\"0\"} 0"),
				 1);
	/* A folder that is not there: one line, however often. */
	snprintf(line, sizeof(line), "MetricsFile=%s/none/g.prom\nMetricsInterval=20ms\n", l->dir);
	live_configure(l, line);
	kill(l->pid, SIGHUP);
	await_log(l, "cannot write");
	usleep(100000);
	assert_int_equal(live_logged(l, "cannot write"), 1);
	assert_serves(l);
	unlink(path);
}

/* ---- the history ------------------------------------------------------------ */

/* Rows of the history's answer per step. */
static json_t *history(const struct live *l, const struct gs_msg_history *ask)
{
	int sock = live_connect(l);
	struct gs_msg msg;
	char text[65536] = "";
	json_t *rows;

	gs_msg_init(&msg, GS_MSG_HISTORY, 4);
	msg.history = *ask;
	msg.history.json = 1;
	live_send(sock, &msg, -1);
	do {
		live_expect(sock, &msg, GS_MSG_TEXT, NULL);
		assert_int_equal(msg.header.tag, 4);
		assert_true(strlen(text) + msg.text.length < sizeof(text));
		strncat(text, msg.text.text, msg.text.length);
	} while (msg.text.more);
	close(sock);
	rows = json_loads(text, 0, NULL);
	assert_non_null(rows);
	return rows;
}

static size_t history_rows(const struct live *l, struct gs_msg_history ask)
{
	json_t *rows = history(l, &ask);
	size_t n = json_array_size(rows);

	json_decref(rows);
	return n;
}

static void run_steps(const struct live *l, unsigned n, const char *partition)
{
	unsigned before = live_logged(l, ": over: ");
	uint32_t job;

	for (unsigned i = 0; i < n; i++)
		close(live_local(l, 1, MIB, partition, &job));
	while (live_logged(l, ": over: ") < before + n)
		usleep(1000);
}

static void test_history(void **state)
{
	struct gs_msg_history all = { 0 }, low = { .partition = "low" };
	struct live *l = *state;
	char line[160], path[128], aside[160];
	uint32_t job;
	unsigned over;
	int own;
	FILE *f;

	/* Without a file: what this daemon has seen. */
	run_steps(l, 2, "low");
	assert_int_equal(history_rows(l, low), 2);
	live_stop(l, SIGTERM);
	snprintf(path, sizeof(path), "%s/h.db", l->dir);
	snprintf(aside, sizeof(aside), "%s.corrupt", path);
	snprintf(line, sizeof(line), "HistoryFile=%s\n", path);
	live_configure(l, line);
	live_start(l);
	if (live_logged(l, "without SQLite")) {
		print_message("the history's file: not tried, built without SQLite\n");
		return;
	}
	run_steps(l, 3, "low");
	run_steps(l, 2, "high");
	own = live_local(l, 10, 0, "low", &job); /* goes on */
	assert_int_equal(history_rows(l, all), 6);
	assert_int_equal(history_rows(l, low), 4);
	assert_int_equal(history_rows(l, (struct gs_msg_history){ .group = GS_GROUP_PARTITION }), 2);
	assert_int_equal(history_rows(l, (struct gs_msg_history){ .since = 4000000000u }), 1);
	/* Across restarts, what was written in the last moment included. */
	over = live_logged(l, ": over: ");
	close(own);
	while (live_logged(l, ": over: ") == over)
		usleep(1000);
	run_steps(l, 4, "high");
	live_stop(l, SIGTERM);
	live_start(l);
	assert_int_equal(history_rows(l, all), 10);
	/* Corrupt: set aside with one line, and kept anew. */
	live_stop(l, SIGTERM);
	f = fopen(path, "w");
	for (int i = 0; i < 500; i++)
		fputs("not a database any more\n", f);
	fclose(f);
	live_start(l);
	run_steps(l, 1, "low");
	assert_int_equal(history_rows(l, all), 1);
	await_log(l, "set aside");
	assert_int_equal(access(aside, F_OK), 0);
	live_stop(l, SIGTERM);
	unlink(path);
	unlink(aside);
}

/* ---- gpusharectl run ------------------------------------------------------- */

static int ctl(const struct live *l, const char *script, int sig)
{
	const char *path = getenv("GPUSHARECTL");
	int status, null;
	pid_t pid = fork();

	if (pid == 0) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(path ? path : "./gpusharectl", "gpusharectl", "--socket", l->socket, "run",
		      "--shares", "30", "--mem", "100M", "--", "sh", "-c", script, (char *)NULL);
		_exit(99);
	}
	if (sig) {
		await_log(l, "30 shares of gpu 0, 100 MiB");
		usleep(100000);
		kill(pid, sig);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_ctl_run(void **state)
{
	struct live *l = *state;

	assert_int_equal(ctl(l, "test \"$GPUSHARE_SOCKET\" && test $GPUSHARE_STEP_ID = 0 && "
			     "test $GPUSHARE_JOB_ID -gt 4000000000 && exit 3", 0), 3);
	assert_int_equal(ctl(l, "kill -9 $$", 0), 128 + SIGKILL);
	assert_int_equal(ctl(l, "exec /nonexistent/program", 0), 127);
}

static void test_ctl_run_forwards_signals(void **state)
{
	assert_int_equal(ctl(*state, "trap 'exit 7' TERM; while :; do sleep 0.01; done", SIGTERM),
			 7);
}

int main(void)
{
#define LIVE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		LIVE(test_start_and_stop),
		LIVE(test_second_daemon_is_refused),
		LIVE(test_bad_configuration_names_the_line),
		LIVE(test_stale_socket_is_replaced),
		LIVE(test_reload),
		LIVE(test_malformed_packets),
		LIVE(test_claims),
		LIVE(test_other_user_is_refused),
		LIVE(test_registration_needs_root_and_munge),
		LIVE(test_no_overbooking),
		LIVE(test_connections_are_bounded),
		LIVE(test_who_does_not_read_is_closed),
		LIVE(test_impossible_page_is_closed),
		LIVE(test_foreign_descriptor_is_refused),
		LIVE(test_memory),
		LIVE(test_preemption),
		LIVE(test_killed_client_frees_the_gpu),
		LIVE(test_restart_adopts),
		LIVE(test_restart_drops_the_dead),
		LIVE(test_long_report),
		LIVE(test_policy_is_changed),
		LIVE(test_priority_is_changed),
		LIVE(test_metrics_file),
		LIVE(test_history),
		LIVE(test_ctl_run),
		LIVE(test_ctl_run_forwards_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
