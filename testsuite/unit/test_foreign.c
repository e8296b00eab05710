/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What it costs to look at a descriptor that a user passes is the user's; connections are closed
 * whatever is left. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/daemon/base/foreign.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/proto/page.h"

#define FEW 64
#define CLOSING 16 /* processes that close at a time */
#define HELD 4     /* a user's processes that look and do not end */
#define SOMEBODY 1001
#define OTHER 1002

/* What waiting for the process that looks at it was counted as, besides. */
static uint64_t counted_for(int sock)
{
	uint64_t counted = gs_user_clock_ns(), own = gs_thread_clock_ns();

	assert_false(gs_foreign_is_page(sock, SOMEBODY));
	counted = gs_user_clock_ns() - counted;
	own = gs_thread_clock_ns() - own;
	return counted > own ? counted - own : 0;
}

static void test_looking_at_a_page_is_counted(void **unused)
{
	int file = memfd_create("no-page", MFD_CLOEXEC), ends[2];
	uint64_t counted = 0;
	struct gs_msg msg;

	(void)unused;
	assert_true(file >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	assert_int_equal(gs_msg_send(ends[0], &msg, file), 0);
	for (int i = 0; i < 10; i++)
		counted += counted_for(ends[1]);
	/* Of ten looks: some of it, and not what a busy machine adds. */
	assert_true(counted > GS_NS_PER_MS / 10 && counted < 6 * GS_NS_PER_MS);
	close(ends[0]);
	close(ends[1]);
	close(file);
}

/* Of no message it is not known what it brings: one that comes a moment later may bring anything.
 */
static void test_what_is_not_there_is_not_taken_for_harmless(void **unused)
{
	struct gs_msg_header header;
	struct gs_msg msg;
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(gs_foreign_comes(ends[1], &header), -1);
	assert_int_equal(errno, EAGAIN);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	assert_int_equal(gs_msg_send(ends[0], &msg, -1), 0);
	assert_int_equal(gs_msg_send(ends[0], &msg, STDIN_FILENO), 0);
	assert_int_equal(gs_foreign_comes(ends[1], &header), 0);
	assert_int_equal(gs_msg_recv(ends[1], &msg, GS_TO_DAEMON, NULL, NULL), 1);
	assert_int_equal(gs_foreign_comes(ends[1], &header), 1);
	close(ends[0]);
	close(ends[1]);
}

/* One descriptor of a connection, and in its queue another one or none. */
static int a_connection(int passed)
{
	struct gs_msg msg;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	assert_int_equal(gs_msg_send(ends[0], &msg, passed), 0);
	close(ends[0]);
	return ends[1];
}

/* Its number may be another file's by now. */
static int is_open(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

static void fill(int *more, int *n)
{
	while (*n < FEW && (more[*n] = dup(STDIN_FILENO)) >= 0)
		++*n;
	assert_int_equal(errno, EMFILE);
}

/* The table of descriptors is full: who has filled it must be able to leave. */
static void test_connections_are_closed_where_no_descriptor_is_left(void **unused)
{
	struct rlimit before, few;
	int plain, passing, more[FEW], n = 0;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit) { FEW, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	gs_foreign_keep_spares();
	plain = a_connection(-1);
	passing = a_connection(STDIN_FILENO);
	fill(more, &n);
	gs_foreign_close(passing);
	fill(more, &n); /* others connect meanwhile */
	gs_foreign_sweep();
	assert_false(is_open(passing));
	fill(more, &n);
	gs_foreign_close(plain);
	assert_false(is_open(plain));
	while (n--)
		close(more[n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Copies of the pipes on whose ends the closing processes wait. */
static int pipes[FEW], npipe;

static void copy_pipes(void)
{
	struct stat st;

	for (int fd = 3; fd < FEW && npipe < FEW; fd++)
		if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
			pipes[npipe++] = fcntl(fd, F_DUPFD_CLOEXEC, FEW);
}

/* Others' pages are looked at while a user holds up all that close (here: that begin to). */
static void test_who_holds_up_closing_holds_up_nobody_who_brings_a_page(void **unused)
{
	int waits[CLOSING], ends[2], file;
	struct gs_page *page;
	struct gs_error err;
	struct gs_msg msg;

	(void)unused;
	assert_int_equal(pthread_atfork(NULL, copy_pipes, NULL), 0);
	for (int i = 0; i < CLOSING; i++) {
		waits[i] = a_connection(STDIN_FILENO);
		gs_foreign_close(waits[i]);
		gs_foreign_sweep();
		assert_false(is_open(waits[i]));
	}
	waits[0] = a_connection(STDIN_FILENO);
	gs_foreign_close(waits[0]);
	gs_foreign_sweep();
	assert_true(is_open(waits[0])); /* they are held up, that is */
	file = gs_page_create(&page, GS_PAGE_SIZE, &err);
	assert_true(file >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	assert_int_equal(gs_msg_send(ends[0], &msg, file), 0);
	assert_true(gs_foreign_is_page(ends[1], SOMEBODY));
	gs_page_unmap(page);
	close(file);
	close(ends[0]);
	close(ends[1]);
	while (npipe)
		close(pipes[--npipe]);
}

/* How long each child takes before it looks, us. */
static useconds_t child_us;

static void child_is_slow(void)
{
	if (child_us)
		usleep(child_us);
}

static void on_alarm(int number)
{
	(void)number;
}

/* Looks at a page of that user, for which the process that looks takes so long, while a signal
 * comes every millisecond. */
static int is_page_in(uid_t user, useconds_t us)
{
	const struct sigaction caught = { .sa_handler = on_alarm },
			       ignored = { .sa_handler = SIG_IGN };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct gs_page *page;
	struct gs_error err;
	int file = gs_page_create(&page, GS_PAGE_SIZE, &err), sock, is;

	assert_true(file >= 0);
	sock = a_connection(file);
	assert_int_equal(sigaction(SIGALRM, &caught, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	child_us = us;
	is = gs_foreign_is_page(sock, user);
	child_us = 0;
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &ignored, NULL), 0);
	gs_page_unmap(page);
	close(file);
	close(sock);
	return is;
}

/* Signals, such as a reload's SIGHUP, neither refuse a page nor prolong
 * the wait for a process that gives no verdict. */
static void test_signals_change_nothing_of_the_verdict(void **unused)
{
	(void)unused;
	assert_int_equal(pthread_atfork(NULL, NULL, child_is_slow), 0);
	assert_true(is_page_in(SOMEBODY, 50000));
	assert_false(is_page_in(SOMEBODY, 3000000));
}

/* Here they have not looked yet; with a file of a stopped FUSE file system they would not end. */
static void test_who_holds_up_looking_holds_up_itself_alone(void **unused)
{
	uint64_t begun;

	(void)unused;
	for (int i = 0; i < HELD; i++)
		assert_false(is_page_in(OTHER, 1500000 + (HELD - i) * 1000000));
	begun = gs_clock_ns();
	assert_false(is_page_in(OTHER, 0));
	assert_true(gs_clock_ns() - begun < GS_NS_PER_S);
	assert_true(is_page_in(SOMEBODY, 0));
	/* Whoever brings pages has no process that is held, however many there are. */
	for (int i = 0; i < 2 * HELD; i++)
		assert_true(is_page_in(SOMEBODY, 0));
	while (!is_page_in(OTHER, 0)) {
		assert_true(gs_clock_ns() - begun < 20 * GS_NS_PER_S);
		usleep(50000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looking_at_a_page_is_counted),
		cmocka_unit_test(test_what_is_not_there_is_not_taken_for_harmless),
		cmocka_unit_test(test_signals_change_nothing_of_the_verdict),
		cmocka_unit_test(test_who_holds_up_looking_holds_up_itself_alone),
		cmocka_unit_test(test_connections_are_closed_where_no_descriptor_is_left),
		cmocka_unit_test(test_who_holds_up_closing_holds_up_nobody_who_brings_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
