/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared and a user of the node who means it ill. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "live_util.h"

/* ---- descriptors whose last close takes as long as their maker likes ---- */

#define LINGER_S 60
#define PROMPT_NS (10 * GS_NS_PER_S) /* far less than that, and much on a busy machine */

/* A TCP socket that lingers, full of what nobody reads; *other: its other end. */
static int make_lingering(int *other)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger linger = { 1, LINGER_S };
	socklen_t size = sizeof(at);
	int listens = socket(AF_INET, SOCK_STREAM, 0), sock = socket(AF_INET, SOCK_STREAM, 0);
	static char bytes[65536];

	assert_int_equal(bind(listens, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listens, 1), 0);
	assert_int_equal(getsockname(listens, (struct sockaddr *)&at, &size), 0);
	assert_int_equal(connect(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	*other = accept(listens, NULL, NULL);
	assert_true(*other >= 0);
	while (send(sock, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	close(listens);
	return sock;
}

/* Send the message with so many copies of a descriptor. */
static void send_fds(int sock, const struct gs_msg *msg, int fd, size_t n)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(16 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg,
			     .iov_len = sizeof(msg->header) + msg->header.length };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&mh);

	assert_true(n <= 16);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	assert_true(sendmsg(sock, &mh, 0) > 0);
}

/* How the descriptor comes to the daemon. */
enum way { WITH_QUERY, WITH_HELLO, MANY, BEHIND_JUNK, WITHIN_A_SOCKET, NOT_ACCEPTED, WAYS };

static void pass(int sock, int fd, enum way way)
{
	struct gs_msg msg;
	int pair[2];

	gs_msg_init(&msg, way == WITH_HELLO ? GS_MSG_HELLO : GS_MSG_QUERY, 1);
	if (way == BEHIND_JUNK) /* closed before what has the descriptor is read */
		assert_int_equal(send(sock, "junk", 4, 0), 4);
	if (way != WITHIN_A_SOCKET) {
		send_fds(sock, &msg, fd, way == MANY ? 16 : 1);
		return;
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	send_fds(pair[0], &msg, fd, 1);
	send_fds(sock, &msg, pair[1], 1);
	close(pair[0]);
	close(pair[1]);
}

/* The daemon gets the only descriptor of a socket that lingers, and answers somebody else. */
static void nobody_waits(struct live *l, enum way way)
{
	int other, fd = make_lingering(&other), sock = live_connect(l);
	uint64_t begun;

	live_serves(l); /* it has accepted the connection */
	assert_int_equal(kill(l->pid, SIGSTOP), 0);
	if (way == NOT_ACCEPTED) {
		close(sock);
		sock = live_connect(l);
	}
	pass(sock, fd, way);
	close(fd); /* not the last: that is the daemon's */
	if (way == NOT_ACCEPTED || way == BEHIND_JUNK)
		close(sock);
	assert_int_equal(kill(l->pid, SIGCONT), 0);
	begun = gs_clock_ns();
	if (way != NOT_ACCEPTED && way != BEHIND_JUNK)
		live_expect_closed(sock);
	live_serves(l);
	assert_true(gs_clock_ns() - begun < PROMPT_NS);
	close(other);
}

static void test_lingering_descriptors_hold_up_nobody(void **state)
{
	struct live *l = *state;

	for (int way = 0; way < WAYS; way++)
		nobody_waits(l, way);
	assert_int_equal(live_logged(l, "with a descriptor that is no sealed page"), WAYS - 1);
}

/* A whole batch of them, and the daemon ends while some are on their way. */
static void test_lingering_descriptors_do_not_outlast_the_daemon(void **state)
{
	struct live *l = *state;
	int other[100], sock[100];
	uint64_t begun;

	assert_int_equal(kill(l->pid, SIGSTOP), 0);
	for (int i = 0; i < 100; i++) {
		int fd = make_lingering(&other[i]);

		sock[i] = live_connect(l);
		pass(sock[i], fd, i % 2 ? WITH_QUERY : BEHIND_JUNK);
		close(fd);
	}
	assert_int_equal(kill(l->pid, SIGCONT), 0);
	begun = gs_clock_ns();
	for (int i = 0; i < 100; i++)
		live_expect_closed(sock[i]);
	nobody_waits(l, NOT_ACCEPTED);
	live_stop(l, SIGTERM);
	assert_true(gs_clock_ns() - begun < PROMPT_NS);
	for (int i = 0; i < 100; i++)
		close(other[i]);
}

/* ---- a connection that is two things at once ------------------------------ */

/* It waits for memory, and asks to own a step besides: it could be closed by what follows from
 * that. */
static void test_who_waits_cannot_own_a_step(void **state)
{
	struct live *l = *state;
	int first, second, waits;
	uint32_t holds, job;
	struct gs_msg msg;

	first = live_local(l, 20, UINT64_C(1000) << 20, "low", &holds);
	second = live_local(l, 20, UINT64_C(1000) << 20, "low", &job);
	waits = live_connect(l);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	live_send(waits, &msg, -1);
	live_expect(waits, &msg, GS_MSG_WAIT, NULL);
	gs_msg_init(&msg, GS_MSG_LOCAL, 2);
	msg.local.shares = 20;
	msg.local.memory = UINT64_C(1) << 20;
	live_send(waits, &msg, -1);
	live_expect(waits, &msg, GS_MSG_REFUSED, NULL);
	assert_int_equal(msg.header.tag, 2);
	assert_int_equal(msg.refused.code, GS_REFUSED_BAD_REQUEST);
	live_expect_closed(waits);
	live_serves(l);
	close(first);
	close(second);
}

/* ---- one who is many users (/etc/subuid) --------------------------------- */

#define STRANGERS 4096 /* of so many connections, 16 a user */

/* Whether a user who connects now is served; 16 more of them stay. */
static int is_served(const struct live *l, uid_t uid)
{
	struct gs_error err;
	struct gs_msg msg;
	int sock, rc;

	assert_int_equal(seteuid(uid), 0);
	sock = live_connect(l);
	for (int i = 1; i < 16; i++)
		live_connect(l);
	assert_int_equal(seteuid(0), 0);
	gs_msg_init(&msg, GS_MSG_WHERE, 1);
	rc = gs_msg_send(sock, &msg, -1);
	return rc == 0 && gs_msg_recv(sock, &msg, GS_FROM_DAEMON, NULL, &err) == 1;
}

static void test_one_who_is_many_users_leaves_some_to_those_with_steps(void **state)
{
	struct live *l = *state;
	struct rlimit limit;
	uint32_t job;
	pid_t pid;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (geteuid() != 0 || limit.rlim_max < STRANGERS + 100)
		skip();
	pid = fork();
	if (pid == 0) {
		unsigned served = 0;

		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		if (seteuid(LIVE_SOMEBODY) < 0)
			_exit(1);
		live_local(l, 20, UINT64_C(1) << 20, "low", &job);
		if (seteuid(0) < 0)
			_exit(1);
		while (served < STRANGERS / 16 + 10 && is_served(l, LIVE_MANY_FIRST + served))
			served++;
		_exit(served > STRANGERS / 16 || served < STRANGERS / 16 - 1 ||
		      !is_served(l, LIVE_SOMEBODY));
	}
	assert_false(live_has_failed(pid));
	live_serves(l);
}

/* ---- lies ----------------------------------------------------------------- */

/* Of GPU 0, by the report on memory. */
static double reserved_mb(const struct live *l)
{
	char *text = live_query(l, GS_QUERY_MEMORY, 0);
	json_t *all = json_loads(text, 0, NULL);
	json_t *is = json_object_get(json_array_get(all, 0), "reserved_mb");
	double mb = json_number_value(is);

	assert_non_null(is);
	json_decref(all);
	free(text);
	return mb;
}

/* It says that it has the whole GPU, and stays when its step of 10 MiB is over. */
static void test_who_outlives_its_step_keeps_no_more_than_that_had(void **state)
{
	struct live *l = *state;
	int page_fd, sock, own;
	struct gs_page *page;
	struct gs_msg msg;
	uint32_t job;

	own = live_local(l, 20, UINT64_C(10) << 20, "low", &job);
	sock = live_hello(l, job, &page, &page_fd);
	close(sock);
	sock = live_connect(l);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	msg.hello.used_bytes = UINT64_C(1) << 62;
	live_send(sock, &msg, page_fd);
	live_expect(sock, &msg, GS_MSG_WELCOME, NULL);
	close(own);
	live_expect_closed(sock);
	live_await_log(l, "outlives its step: its 10 MiB");
	assert_true(reserved_mb(l) == 10);
	gs_page_unmap(page);
	close(page_fd);
}

/* Descriptors of the daemon. */
static unsigned descriptors(const struct live *l)
{
	struct dirent *e;
	unsigned n = 0;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)l->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* One process outlives a step after the other, each of which it has registered itself. */
static void test_who_outlives_many_steps_takes_no_descriptors(void **state)
{
	struct live *l = *state;
	unsigned before = descriptors(l);

	for (int i = 0; i < 300; i++) {
		struct gs_page *page;
		uint32_t job;
		int own = live_local(l, 1, UINT64_C(1) << 20, "low", &job);
		int sock = live_hello(l, job, &page, NULL);

		live_alloc(sock, 4096);
		close(own);
		live_expect_closed(sock);
		close(sock);
		gs_page_unmap(page);
	}
	assert_true(live_logged(l, "outlives its step") > 0);
	assert_true(live_logged(l, "outlives its step") < 100);
	assert_true(descriptors(l) < before + 100);
}

/* What LOCAL reserves that asks for what earlier runs of program 7 took; the connection. */
static int run_seven(const struct live *l, uint64_t memory, uint64_t *reservation)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = 10;
	msg.local.memory = memory;
	msg.local.program = 7;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_REGISTERED, NULL);
	*reservation = msg.registered.reservation;
	return sock;
}

/* The number of a program is the user's word, too. */
static void test_nobody_names_anothers_program(void **state)
{
	struct live *l = *state;
	uint64_t reserved;
	struct gs_page *page;
	char *status;
	json_t *all;
	int own, sock;
	pid_t pid;

	own = run_seven(l, UINT64_C(500) << 20, &reserved);
	status = live_query(l, GS_QUERY_REPORT, 0);
	all = json_loads(status, 0, NULL);
	sock = live_hello(
		l, (uint32_t)json_integer_value(json_object_get(json_array_get(all, 0), "job")),
		&page, NULL);
	json_decref(all);
	free(status);
	assert_int_equal(live_alloc(sock, UINT64_C(400) << 20).granted, 1);
	gs_page_unmap(page);
	close(sock);
	close(own);
	live_await_log(l, "its owner has left");
	pid = live_fork_user();
	if (pid == 0) { /* by its shares */
		run_seven(l, GS_MEMORY_AUTO, &reserved);
		_exit(reserved != UINT64_C(100) << 20);
	}
	/* Where the tests do not run as root, there is no other user. */
	assert_int_equal(live_has_failed(pid), geteuid() != 0);
	close(run_seven(l, GS_MEMORY_AUTO, &reserved));
	assert_true(reserved >= UINT64_C(400) << 20);
}

/* Names that steer the terminal of whoever reads the log. */
static void test_the_log_steers_no_terminal(void **state)
{
	static const char name[] = "\x1b[2J\xc2\x9b"
				   "31m\x9b\xff\xc3\xa9";
	struct live *l = *state;
	struct gs_msg msg;
	uint32_t job;
	int own = live_local(l, 20, UINT64_C(1) << 20, "p\xc2\x9b\xff", &job);
	int sock = live_connect(l);

	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	gs_msg_str(msg.hello.program, sizeof(msg.hello.program), name);
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_WELCOME, NULL);
	live_await_log(l, ": ?[2J??31m??\xc3\xa9 on gpu 0");
	assert_int_equal(live_logged(l, "partition 'p??"
					"?'"),
			 1);
	assert_int_equal(live_logged(l, "\xc2\x9b"), 0);
	close(sock);
	close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_lingering_descriptors_hold_up_nobody),
		LIVE(test_lingering_descriptors_do_not_outlast_the_daemon),
		LIVE(test_who_waits_cannot_own_a_step),
		LIVE(test_who_outlives_its_step_keeps_no_more_than_that_had),
		LIVE(test_one_who_is_many_users_leaves_some_to_those_with_steps),
		LIVE(test_who_outlives_many_steps_takes_no_descriptors),
		LIVE(test_nobody_names_anothers_program),
		LIVE(test_the_log_steers_no_terminal),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
