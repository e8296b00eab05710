/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushared over raw sockets: clients that play by the rules, whose turns and
 * memory it keeps, and others, which it refuses or closes.
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
#include "live_util.h"

#define MIB UINT64_C(1048576)
#define SOMEBODY 65534 /* an ordinary user, when the tests run as root */

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

	sock = live_connect(l); /* nobody's doorbell */
	live_doorbell(sock);
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
	live_serves(l);
}

static uint32_t local_refused(const struct live *l, uint32_t shares, uint64_t memory, uint32_t gpu)
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
	live_status_gpu(l, "shares_taken", taken, sizeof(taken));
	assert_string_equal(taken, "100");
	close(first);
	/* Its owner left: all of it is free again. */
	for (int i = 0; i < 2000 && strcmp(taken, "40") != 0; i++) {
		usleep(10000);
		live_status_gpu(l, "shares_taken", taken, sizeof(taken));
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
	live_serves(l);
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
	live_serves(l);
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

	gs_page_store(page->slot[5].state, 57);
	live_doorbell(sock);
	live_expect_closed(sock);
	assert_int_equal(live_logged(l, "invalid launch state 57"), 1);
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
	live_serves(l);
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
	assert_true(live_figure(l, ja, "memory_mb") == 400.0);
	assert_true(live_figure(l, ja, "reserved_mb") == 400.0);
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

static void test_preemption(void **state)
{
	struct live *l = *state;
	struct gs_page *low, *high;
	uint32_t jl, jh;
	int own_l = live_local(l, 40, 0, "low", &jl), own_h = live_local(l, 40, 0, "high", &jh);
	int cl = live_hello(l, jl, &low, NULL), ch = live_hello(l, jh, &high, NULL);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_KERNEL, 0);
	msg.kernel.transform = 1;
	gs_msg_str(msg.kernel.name, sizeof(msg.kernel.name), "triad\ninjected");
	live_send(cl, &msg, -1);
	live_launch(cl, low, 0, 0);
	live_await(low, 0, GS_K_TORUN);
	live_run_slot(low, 0);
	for (unsigned round = 1; round <= 3; round++) {
		live_launch(ch, high, round, round - 1);
		live_await(low, 0, GS_K_TOEVICT);
		assert_int_equal(gs_page_load(high->slot[round].state), GS_K_READY);
		gs_page_store(low->slot[0].done, 100 * round);
		live_move(low, 0, GS_K_TOEVICT, GS_K_READY);
		live_await(high, round, GS_K_TORUN);
		live_run_slot(high, round);
		usleep(2000);
		assert_int_equal(gs_page_load(low->slot[0].state), GS_K_READY);
		live_end_slot(high, round, GS_K_RUNNING);
		live_await(low, 0, GS_K_TORUN);
		gs_page_store(low->slot[0].started, 0);
		live_run_slot(low, 0);
	}
	live_end_slot(low, 0, GS_K_RUNNING);
	close(cl);
	close(ch);
	for (int i = 0; i < 4000 && live_logged(l, ": gone") < 2; i++)
		usleep(5000);
	assert_int_equal(live_logged(l, ": gone"), 2);
	assert_true(live_figure(l, jl, "preemptions") == 3);
	assert_true(live_figure(l, jh, "preemptions") == 0);
	assert_true(live_figure(l, jl, "kernels") == 1);
	assert_true(live_figure(l, jh, "kernels") == 3);
	assert_true(live_figure(l, jl, "waiting_ms") >= 6);
	assert_true(live_figure(l, jl, "ntt") > 1);
	assert_true(live_figure(l, jl, "evict_p50_us") > 0);
	{
		char *text = live_query(l, GS_QUERY_KERNELS, jl);
		json_t *rows = json_loads(text, 0, NULL),
		       *k = json_array_get(json_object_get(rows, "kernels"), 0);

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
		live_run_slot(p, 0);
		if (write(ready[1], "x", 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	client = live_hello(l, job, &page, NULL);
	live_launch(client, page, 0, 0);
	usleep(20000);
	assert_int_equal(gs_page_load(page->slot[0].state), GS_K_READY);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
