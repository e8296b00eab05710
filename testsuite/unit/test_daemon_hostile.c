/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared and a user of the node who means it ill. */
#define _GNU_SOURCE
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
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_lingering_descriptors_hold_up_nobody),
		LIVE(test_lingering_descriptors_do_not_outlast_the_daemon),
		LIVE(test_who_waits_cannot_own_a_step),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
