/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A daemon that answers late, and what a program does meanwhile; a session that fails behind a
 * WELCOME. The test is the daemon, and each program a process of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/base/counted.h"
#include "fake_driver.h"
#include "gpushare/proto/msg.h"
#include "shim_rig.h"

#define BYTES 4096
/* How long an answer takes. What the program should do in that time may come later on a busy
 * machine; then the test shows nothing. */
#define LATE_US (200 * 1000)

static char folder[] = "/tmp/daemonXXXXXX";
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static int listening, turn[2]; /* the daemon's end and the programs': whose turn it is */

/* Each side lets the other one go on by this, and waits for it by the next. */
static void say_go(int own)
{
	if (write(own, "", 1) != 1)
		_exit(99);
}

static void await_go(int own)
{
	char one;

	if (read(own, &one, 1) != 1)
		_exit(99);
}

static void listen_now(void)
{
	listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(listening >= 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listening, 4), 0);
}

static void stop_listening(void)
{
	close(listening);
	unlink(address.sun_path);
}

/* The program's connection, and its page if it brought one. */
static int accept_hello(struct gs_msg *msg, struct gs_page **brought)
{
	int sock = accept(listening, NULL, NULL), fd = -1;
	struct gs_error err = { "" };

	assert_true(sock >= 0);
	assert_int_equal(gs_msg_recv(sock, msg, GS_TO_DAEMON, &fd, &err), 1);
	assert_int_equal(msg->header.type, GS_MSG_HELLO);
	if (fd >= 0) {
		assert_int_equal(gs_page_map(fd, brought, &err), 0);
		close(fd);
	}
	return sock;
}

static void welcome(int sock, uint32_t tag, int page_fd)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_WELCOME, tag);
	msg.welcome.reservation = 64 * BYTES;
	assert_int_equal(gs_msg_send(sock, &msg, page_fd), 0);
}

/* A program; its exit status is 0 if all was as it should be. */
static pid_t start(int (*does)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	fake_driver_install();
	setenv("GPUSHARE_SOCKET", address.sun_path, 1);
	unsetenv("GPUSHARE_ABSENT");
	alarm(20);
	_exit(does());
}

static int outcome(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int is_connected(void)
{
	uint64_t until = gs_clock_ns() + 10 * GS_NS_PER_S;

	while (!shim_session_peek()->connected && gs_clock_ns() < until)
		usleep(1000);
	return shim_session_peek()->connected;
}

/* It has memory when the daemon comes, and frees it once it has told the daemon of it. */
static int frees_meanwhile(void)
{
	CUdeviceptr p;

	if (cuMemAlloc_v2(&p, BYTES) != CUDA_SUCCESS || shim_session_peek()->used != BYTES)
		return 1;
	say_go(turn[1]);
	await_go(turn[1]);
	return cuMemFree_v2(p) != CUDA_SUCCESS || !is_connected() || shim_session_peek()->used;
}

/* What it frees while its HELLO is being answered is counted by the daemon, and must come back. */
static void test_freed_while_the_daemon_answers(void **unused)
{
	struct gs_page *its = NULL;
	struct gs_msg msg;
	pid_t pid = start(frees_meanwhile);
	int sock;

	(void)unused;
	await_go(turn[0]);
	listen_now();
	sock = accept_hello(&msg, &its);
	assert_non_null(its);
	assert_int_equal(msg.hello.used_bytes, BYTES);
	say_go(turn[0]);
	usleep(LATE_US);
	welcome(sock, msg.header.tag, -1);
	assert_int_equal(outcome(pid), 0);
	assert_int_equal(gs_page_load(its->lease), BYTES);
	gs_page_unmap(its);
	close(sock);
	stop_listening();
}

/* The daemon welcomes it and has its calls counted, but its agent cannot be started. */
static int gets_no_thread(void)
{
	enum shim_fn fn = SHIM_FN_cuMemAlloc_v2;
	pthread_attr_t attr;
	CUdeviceptr p;

	shim_slot[fn] = shim_counted_slot(fn, shim_slot[fn]);
	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)1 << 46) != 0 ||
	    pthread_setattr_default_np(&attr) != 0)
		return 1;
	for (int i = 0; i < 3; i++)
		if (cuMemAlloc_v2(&p, BYTES) != CUDA_SUCCESS)
			return 2;
	return shim_session_peek() ? 3 : 0;
}

/* It runs unmanaged, and counts its calls nowhere. */
static void test_a_session_that_fails_after_the_welcome(void **unused)
{
	struct gs_page *page_of = NULL;
	struct gs_error err = { "" };
	int page_fd = gs_page_create(&page_of, GS_PAGE_SIZE, &err), sock;
	struct gs_msg msg;
	pid_t pid;

	(void)unused;
	assert_true(page_fd >= 0);
	gs_page_store(page_of->calls.wanted, 1);
	listen_now();
	pid = start(gets_no_thread);
	sock = accept_hello(&msg, NULL);
	welcome(sock, msg.header.tag, page_fd);
	assert_int_equal(outcome(pid), 0);
	gs_page_unmap(page_of);
	close(page_fd);
	close(sock);
	stop_listening();
}

static void *allocates(void *unused)
{
	CUdeviceptr p;

	cuMemAlloc_v2(&p, BYTES);
	return unused;
}

/* One thread is cancelled while it waits for the WELCOME; the others want one as well. */
static int cancels_who_waits(void)
{
	pthread_t thread;
	CUdeviceptr p;

	if (pthread_create(&thread, NULL, allocates, NULL) != 0)
		return 1;
	await_go(turn[1]);
	if (pthread_cancel(thread) != 0)
		return 2;
	return cuMemAlloc_v2(&p, BYTES) != CUDA_SUCCESS;
}

static void test_who_waits_is_cancelled(void **unused)
{
	struct gs_page *page_of = NULL;
	struct gs_error err = { "" };
	int page_fd = gs_page_create(&page_of, GS_PAGE_SIZE, &err), sock;
	struct gs_msg msg;
	pid_t pid;

	(void)unused;
	assert_true(page_fd >= 0);
	listen_now();
	pid = start(cancels_who_waits);
	sock = accept_hello(&msg, NULL);
	say_go(turn[0]);
	usleep(LATE_US);
	welcome(sock, msg.header.tag, page_fd);
	while (gs_msg_recv(sock, &msg, GS_TO_DAEMON, NULL, &err) == 1) {
		uint32_t tag = msg.header.tag;

		if (msg.header.type != GS_MSG_ALLOC)
			continue;
		gs_msg_init(&msg, GS_MSG_ALLOCATED, tag);
		msg.allocated.granted = 1;
		gs_msg_send(sock, &msg, -1); /* it may have ended */
	}
	assert_int_equal(outcome(pid), 0);
	gs_page_unmap(page_of);
	close(page_fd);
	close(sock);
	stop_listening();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_freed_while_the_daemon_answers),
		cmocka_unit_test(test_a_session_that_fails_after_the_welcome),
		cmocka_unit_test(test_who_waits_is_cancelled),
	};
	int failures;

	if (!mkdtemp(folder) || socketpair(AF_UNIX, SOCK_STREAM, 0, turn) < 0)
		return 1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", folder);
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failures;
}
