/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages: every type travels whole; malformed packets of every kind are refused. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/proto/msg.h"
#include "gpushare/proto/user_name.h"

static const struct {
	enum gs_msg_direction direction;
	size_t body;
	const char *name;
} type[GS_MSG_COUNT] = {
#define MSG(NAME, lower, dir, fields) \
	[GS_MSG_##NAME] = { GS_##dir, sizeof(struct gs_msg_##lower), #NAME },
#include "gpushare/proto/msg.def"
#undef MSG
};

static int setup(void **state)
{
	int *pair = malloc(2 * sizeof(int));

	*state = pair;
	return pair ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) : -1;
}

static int teardown(void **state)
{
	int *pair = *state;

	close(pair[0]);
	close(pair[1]);
	free(pair);
	return 0;
}

static void every_type_travels(void **state)
{
	int *pair = *state;

	for (unsigned t = GS_MSG_NONE + 1; t < GS_MSG_COUNT; t++) {
		struct gs_msg out, in;
		struct gs_error err;

		gs_msg_init(&out, t, 1000 + t);
		assert_int_equal(out.header.length, type[t].body);
		assert_string_equal(gs_msg_name(t), type[t].name);
		assert_int_equal(gs_msg_send(pair[0], &out, -1), 0);
		assert_int_equal(gs_msg_recv(pair[1], &in, type[t].direction, NULL, &err), 1);
		assert_int_equal(in.header.type, t);
		assert_int_equal(in.header.tag, 1000 + t);
		assert_memory_equal(&in, &out, sizeof(out.header) + type[t].body);
	}
	assert_string_equal(gs_msg_name(GS_MSG_NONE), "?");
	assert_string_equal(gs_msg_name(GS_MSG_COUNT), "?");
	assert_string_equal(gs_msg_name(70000), "?");
}

static int check(const struct gs_msg *m, size_t bytes, enum gs_msg_direction d)
{
	struct gs_error err = { "" };
	int rc = gs_msg_check(m, bytes, d, &err);

	if (rc < 0)
		assert_true(err.text[0] != '\0');
	return rc;
}

static void bad_headers(void **state)
{
	(void)state;
	for (unsigned t = GS_MSG_NONE + 1; t < GS_MSG_COUNT; t++) {
		enum gs_msg_direction d = type[t].direction;
		struct gs_msg good, m;
		size_t bytes;

		gs_msg_init(&good, t, 0);
		bytes = sizeof(good.header) + type[t].body;
		assert_int_equal(check(&good, bytes, d), 0);
		for (size_t n = 0; n < bytes; n++)
			assert_int_equal(check(&good, n, d), -1);
		assert_int_equal(check(&good, bytes + 1, d), -1);
		for (int other = 0; other <= GS_IN_CREDENTIAL; other++)
			assert_int_equal(check(&good, bytes, (enum gs_msg_direction)other),
					 other == (int)d ? 0 : -1);
#define SPOIL(field, value) \
	m = good; \
	m.header.field = (value); \
	assert_int_equal(check(&m, bytes, d), -1)
		SPOIL(magic, 0);
		SPOIL(version, GS_MSG_VERSION + 1);
		SPOIL(type, GS_MSG_NONE);
		SPOIL(type, GS_MSG_COUNT);
		SPOIL(type, 0xffff);
		SPOIL(length, (uint16_t)(type[t].body + 1));
		SPOIL(length, (uint16_t)(type[t].body - 1));
		SPOIL(length, 0);
#undef SPOIL
	}
}

/* Fill each string field of each type in turn to its last byte. */
static void unterminated_strings(void **state)
{
	struct gs_msg m;
	int strings = 0;

	(void)state;
#define U32(f)
#define U64(f)
#define BLOB(f, n)
#define STR(f, n) \
	memset(body->f, 'x', n); \
	assert_int_equal(check(&m, bytes, direction), -1); \
	body->f[(n)-1] = '\0'; \
	assert_int_equal(check(&m, bytes, direction), 0); \
	strings++;
#define MSG(NAME, lower, dir, fields) \
	{ \
		struct gs_msg_##lower *body = &m.lower; \
		enum gs_msg_direction direction = GS_##dir; \
		size_t bytes = sizeof(m.header) + sizeof(*body); \
		(void)direction; \
		(void)bytes; \
		gs_msg_init(&m, GS_MSG_##NAME, 0); \
		fields(void) body; \
	}
#include "gpushare/proto/msg.def"
#undef MSG
#undef STR
#undef U32
#undef U64
#undef BLOB
	assert_true(strings >= 8);
}

static void malformed_packets(void **state)
{
	int *pair = *state;
	char big[sizeof(struct gs_msg) + 64];
	struct gs_error err;
	struct gs_msg m;

	memset(big, 0x5a, sizeof(big));
	assert_true(send(pair[0], big, sizeof(big), 0) > 0);
	assert_int_equal(gs_msg_recv(pair[1], &m, GS_TO_DAEMON, NULL, &err), -1);
	assert_int_equal(errno, EBADMSG);
	assert_true(send(pair[0], "x", 1, 0) == 1);
	assert_int_equal(gs_msg_recv(pair[1], &m, GS_TO_DAEMON, NULL, &err), -1);
	assert_int_equal(errno, EBADMSG);
	/* A client sends what only the daemon may. */
	gs_msg_init(&m, GS_MSG_WELCOME, 0);
	assert_int_equal(gs_msg_send(pair[0], &m, -1), 0);
	assert_int_equal(gs_msg_recv(pair[1], &m, GS_TO_DAEMON, NULL, &err), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(gs_msg_recv(pair[1], &m, GS_TO_DAEMON, NULL, &err), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(shutdown(pair[0], SHUT_WR), 0);
	assert_int_equal(gs_msg_recv(pair[1], &m, GS_TO_DAEMON, NULL, &err), 0);
}

/* Send `n` copies of fd with len bytes of *m. */
static void send_fds(int sock, const struct gs_msg *m, size_t len, int fd, size_t n)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(16 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)m, .iov_len = len };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&mh);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	assert_true(sendmsg(sock, &mh, 0) > 0);
}

static int lowest_free_fd(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* Whatever rides along, no descriptor is left behind. */
static void descriptors_do_not_leak(void **state)
{
	int *pair = *state, fd = open("/dev/null", O_RDWR | O_CLOEXEC), got, lowest;
	struct gs_error err;
	struct gs_msg m, in;

	assert_true(fd >= 0);
	lowest = lowest_free_fd();
	gs_msg_init(&m, GS_MSG_HELLO, 1);
	for (size_t n = 1; n <= 4; n++) {
		send_fds(pair[0], &m, sizeof(m.header) + m.header.length, fd, n);
		assert_int_equal(gs_msg_recv(pair[1], &in, GS_TO_DAEMON, &got, &err), 1);
		assert_true(got >= 0 && got != fd);
		assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
		close(got);
		assert_int_equal(lowest_free_fd(), lowest);
	}
	send_fds(pair[0], &m, sizeof(m.header) + m.header.length, fd, 1);
	assert_int_equal(gs_msg_recv(pair[1], &in, GS_TO_DAEMON, NULL, &err), 1);
	assert_int_equal(lowest_free_fd(), lowest);
	send_fds(pair[0], &m, sizeof(m.header) + m.header.length, fd, 9);
	assert_int_equal(gs_msg_recv(pair[1], &in, GS_TO_DAEMON, &got, &err), -1);
	assert_int_equal(got, -1);
	assert_int_equal(lowest_free_fd(), lowest);
	send_fds(pair[0], &m, 3, fd, 1);
	assert_int_equal(gs_msg_recv(pair[1], &in, GS_TO_DAEMON, &got, &err), -1);
	assert_int_equal(got, -1);
	assert_int_equal(lowest_free_fd(), lowest);
	close(fd);
}

static void sending_to_the_gone_is_an_error(void **state)
{
	int *pair = *state;
	struct gs_msg m;

	gs_msg_init(&m, GS_MSG_OK, 1);
	assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 100000; i++)
		if (gs_msg_send(pair[0], &m, -1) < 0)
			break;
	assert_int_equal(errno, EAGAIN);
	while (recv(pair[1], &m, sizeof(m), MSG_DONTWAIT) > 0)
		continue;
	close(pair[1]);
	pair[1] = dup(pair[0]);
	gs_msg_init(&m, GS_MSG_OK, 1);
	assert_int_equal(gs_msg_send(pair[0], &m, -1), -1);
	assert_int_equal(errno, EPIPE);
}

static void fixed_strings(void **state)
{
	char field[4];

	(void)state;
	assert_int_equal(gs_msg_str(field, sizeof(field), "abc"), 0);
	assert_string_equal(field, "abc");
	assert_int_equal(gs_msg_str(field, sizeof(field), "abcd"), -1);
	assert_string_equal(field, "abc");
	assert_int_equal(gs_msg_str(field, sizeof(field), ""), 0);
	assert_memory_equal(field, "\0\0\0\0", 4);
}

/* An empty packet is malformed; only a peer that is gone is an end. */
static void test_empty_packet(void **unused)
{
	struct gs_error err;
	struct gs_msg msg;
	int pair[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(send(pair[0], "", 0, 0), 0);
	assert_int_equal(gs_msg_recv(pair[1], &msg, GS_TO_DAEMON, NULL, &err), -1);
	assert_int_equal(errno, EBADMSG);
	close(pair[0]);
	assert_int_equal(gs_msg_recv(pair[1], &msg, GS_TO_DAEMON, NULL, &err), 0);
	close(pair[1]);
}

/* Somebody listens at path.  Returns the listening socket. */
static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(sock >= 0);
	assert_int_equal(gs_msg_str(address.sun_path, sizeof(address.sun_path), path), 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(sock, 1), 0);
	return sock;
}

/* The limit of one direction, in microseconds. */
static uint64_t limit_us(int sock, int option)
{
	struct timeval limit;
	socklen_t size = sizeof(limit);

	assert_int_equal(getsockopt(sock, SOL_SOCKET, option, &limit, &size), 0);
	return (uint64_t)limit.tv_sec * 1000000 + (uint64_t)limit.tv_usec;
}

static void assert_limit_us(int sock, uint64_t least)
{
	/* Linux keeps the limit in ticks, rounded up; a tick is at most 10 ms. */
	assert_in_range(limit_us(sock, SO_RCVTIMEO), least, least + 10000);
	assert_in_range(limit_us(sock, SO_SNDTIMEO), least, least + 10000);
}

static void nobody_to_connect_to(void **state)
{
	char dir[] = "/tmp/gs_msg_XXXXXX", path[64], beyond[300];
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
	struct gs_error err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	assert_int_equal(gs_msg_connect(path, GS_NS_PER_S, &err), -1);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, strerror(ENOENT)));
	close(listen_at(path)); /* what a daemon that was killed leaves */
	assert_int_equal(gs_msg_connect(path, GS_NS_PER_S, &err), -1);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, strerror(ECONNREFUSED)));
	unlink(path);
	rmdir(dir);

	memset(beyond, 'a', sizeof(beyond));
	beyond[room] = '\0';
	assert_int_equal(gs_msg_connect(beyond, GS_NS_PER_S, &err), -1);
	assert_non_null(strstr(err.text, "too long"));
	assert_non_null(strstr(err.text, beyond));
}

static void connecting_sets_the_limits(void **state)
{
	char dir[] = "/tmp/gs_msg_XXXXXX", path[64];
	struct gs_error err = { "" };
	struct gs_msg msg;
	int server, sock;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	server = listen_at(path);
	sock = gs_msg_connect(path, 20 * GS_NS_PER_MS, &err);
	assert_true(sock >= 0);
	assert_true(fcntl(sock, F_GETFD) & FD_CLOEXEC);
	assert_limit_us(sock, 20000);
	assert_int_equal(gs_msg_recv(sock, &msg, GS_FROM_DAEMON, NULL, &err), -1);
	assert_int_equal(errno, EAGAIN);

	assert_int_equal(gs_msg_limit(sock, 3 * GS_NS_PER_S + 500 * GS_NS_PER_MS, &err), 0);
	assert_limit_us(sock, 3500000);
	assert_int_equal(gs_msg_limit(sock, 1, &err), 0); /* little is not for ever */
	assert_limit_us(sock, 1);
	assert_int_equal(gs_msg_limit(sock, 0, &err), 0);
	assert_int_equal(limit_us(sock, SO_RCVTIMEO), 0);
	assert_int_equal(limit_us(sock, SO_SNDTIMEO), 0);
	close(sock);
	assert_int_equal(gs_msg_limit(sock, 0, &err), -1);
	close(server);
	unlink(path);
	rmdir(dir);
}

/* A program's timer: many times within the limit. After TICKS_MOST the test has failed, and it
 * stops so that the call ends at last. */
#define TICK_MS 20
#define LIMIT_MS 200
#define TICKS_MOST (5000 / TICK_MS)
static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
	static const struct itimerval never;

	(void)signal;
	if (++ticks == TICKS_MOST)
		setitimer(ITIMER_REAL, &never, NULL);
}

/* The call that is made between these ended because of its limit: not at the first ticks, and
 * before they stopped. */
static uint64_t begin_ticks(void)
{
	static const struct itimerval often = { { 0, TICK_MS * 1000 }, { 0, TICK_MS * 1000 } };
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };

	ticks = 0;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	return gs_clock_ns();
}

static void end_ticks(uint64_t began)
{
	static const struct itimerval never;
	uint64_t took = gs_clock_ns() - began;

	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_in_range(ticks, 1, TICKS_MOST - 1);
	assert_true(took >= LIMIT_MS * GS_NS_PER_MS / 2);
}

static void a_limit_holds_among_signals(void **state)
{
	int *pair = *state, rc;
	struct gs_msg msg;
	uint64_t began;

	assert_int_equal(gs_msg_limit(pair[0], LIMIT_MS * GS_NS_PER_MS, NULL), 0);
	began = begin_ticks();
	rc = gs_msg_recv(pair[0], &msg, GS_FROM_DAEMON, NULL, NULL);
	assert_true(rc == -1 && errno == EAGAIN);
	end_ticks(began);

	gs_msg_init(&msg, GS_MSG_REGISTER, 1);
	while (send(pair[0], &msg, sizeof(msg.header) + msg.header.length, MSG_DONTWAIT) > 0)
		continue;
	began = begin_ticks();
	rc = gs_msg_send(pair[0], &msg, -1);
	assert_true(rc == -1 && errno == EAGAIN);
	end_ticks(began);
}

/* The daemon is there and accepts nobody yet: a signal does not make it absent. */
static void connecting_waits_among_signals(void **state)
{
	char dir[] = "/tmp/gs_msg_XXXXXX", path[64];
	struct gs_error err = { "" };
	int server, before, sock;
	uint64_t began;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	server = listen_at(path);
	assert_int_equal(listen(server, 0), 0);
	before = gs_msg_connect(path, GS_NS_PER_S, &err);
	assert_true(before >= 0);
	began = begin_ticks();
	sock = gs_msg_connect(path, LIMIT_MS * GS_NS_PER_MS, &err);
	assert_int_equal(sock, -1);
	end_ticks(began);
	assert_non_null(strstr(err.text, "it hangs, or is stopped"));
	close(before);
	close(server);
	unlink(path);
	rmdir(dir);
}

/* Two users whose names begin alike are two. */
static void long_login_names_are_not_cut(void **unused)
{
	static const char login[] = "a.user.of.a.directory@cluster.example.org";
	char name[GS_USER_NAME_MAX];
	struct gs_msg msg;

	(void)unused;
	assert_int_equal(sizeof(name), sizeof(msg.history.user));
	gs_user_name(name, "root", 0);
	assert_string_equal(name, "root");
	gs_user_name(name, "exactly-thirty-one-characters-x", 7);
	assert_string_equal(name, "exactly-thirty-one-characters-x");
	gs_user_name(name, login, 4200000000);
	assert_string_equal(name, "4200000000");
	gs_user_name(name, NULL, 1000);
	assert_string_equal(name, "1000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_type_travels, setup, teardown),
		cmocka_unit_test(test_empty_packet),
		cmocka_unit_test(bad_headers),
		cmocka_unit_test(unterminated_strings),
		cmocka_unit_test_setup_teardown(malformed_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(descriptors_do_not_leak, setup, teardown),
		cmocka_unit_test_setup_teardown(sending_to_the_gone_is_an_error, setup, teardown),
		cmocka_unit_test(fixed_strings),
		cmocka_unit_test(long_login_names_are_not_cut),
		cmocka_unit_test(nobody_to_connect_to),
		cmocka_unit_test(connecting_sets_the_limits),
		cmocka_unit_test_setup_teardown(a_limit_holds_among_signals, setup, teardown),
		cmocka_unit_test(connecting_waits_among_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
