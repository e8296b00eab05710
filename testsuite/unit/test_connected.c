/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has connected: a process that hands its connection on and ends is not the one that gets its
 * number. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/daemon/base/proc.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_size;
static int listening;

static int setup(void **state)
{
	(void)state;
	address_size =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			    (size_t)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
					     "gpushare-test-%d", (int)getpid()) +
			    1);
	listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return listening < 0 || bind(listening, (struct sockaddr *)&address, address_size) < 0 ||
	       listen(listening, 4) < 0;
}

static int teardown(void **state)
{
	(void)state;
	return close(listening);
}

/* A child that connects, and waits to be killed; *sock: the accepted end. */
static pid_t connected(int *sock)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&address, address_size) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	*sock = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(*sock >= 0);
	assert_int_equal(getsockopt(*sock, SOL_SOCKET, SO_PEERCRED, &cred, &size), 0);
	assert_int_equal(cred.pid, child);
	return child;
}

static void ends(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A child of that number, which waits to be killed; -1: this user may not choose it. */
static pid_t fork_as(pid_t number)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&number,
				   .set_tid_size = 1 };
	pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0) {
		pause();
		_exit(0);
	}
	return child;
}

static void test_alive(void **state)
{
	struct gs_proc found, now;
	int sock;
	pid_t child = connected(&sock);

	(void)state;
	assert_int_equal(gs_proc_read_connected(sock, child, &found), 0);
	assert_int_equal(gs_proc_read(child, &now), 0);
	assert_int_equal(found.start, now.start);
	assert_int_equal(found.ppid, getpid());
	ends(child);
	assert_int_equal(gs_proc_read_connected(sock, child, &found), -1);
	close(sock);
}

static void test_another_has_the_number(void **state)
{
	struct gs_proc found;
	int sock, pidfd;
	socklen_t size = sizeof(pidfd);
	pid_t child = connected(&sock), other;

	(void)state;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0) {
		assert_int_equal(errno, ENOPROTOOPT);
		print_message("skipped: the kernel has no SO_PEERPIDFD\n");
		ends(child);
		close(sock);
		skip();
	}
	close(pidfd);
	ends(child);
	other = fork_as(child);
	if (other < 0) {
		assert_true(errno == EPERM || errno == ENOSYS);
		print_message("skipped: a process's number cannot be chosen here\n");
		close(sock);
		skip();
	}
	assert_int_equal(other, child);
	assert_int_equal(gs_proc_read(child, &found), 0);
	assert_int_equal(gs_proc_read_connected(sock, child, &found), -1);
	ends(other);
	close(sock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alive),
		cmocka_unit_test(test_another_has_the_number),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
