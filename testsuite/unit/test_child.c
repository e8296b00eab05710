/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A helper process has none of the daemon's descriptors, wherever they lie. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/daemon/base/child.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Beyond 4,096, where helpers used to stop at the first gap. */
#define FAR 5000

/* In the helper: how many descriptors there are beside its own four. */
static void count(int sock, const char *unused)
{
	int n = 0;

	(void)unused;
	for (int fd = 0; fd <= FAR; fd++)
		n += (fcntl(fd, F_GETFD) >= 0) != (fd < 4);
	send(sock, &n, sizeof(n), MSG_NOSIGNAL);
}

/* What a helper counts; -1: it cannot be started. */
static int helper_counts(void)
{
	pid_t pid;
	int n = -1, sock = gs_child_start(&pid, count, NULL, 1);

	if (sock < 0)
		return -1;
	if (recv(sock, &n, sizeof(n), 0) != (ssize_t)sizeof(n))
		n = -1;
	close(sock);
	waitpid(pid, NULL, 0);
	return n;
}

static int far_one(void **state)
{
	struct rlimit limit;

	*state = NULL;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max <= FAR)
		return 0;
	if (limit.rlim_cur <= FAR) {
		limit.rlim_cur = FAR + 1;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	assert_int_equal(dup2(STDIN_FILENO, FAR), FAR);
	*state = count; /* there is one */
	return 0;
}

static void test_a_helper_has_its_socket_alone(void **state)
{
	if (!*state)
		skip();
	assert_int_equal(helper_counts(), 0);
}

/* From here on close_range(2) is not there, as before Linux 5.9. */
static int be_an_old_kernel(void)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(lines) / sizeof(lines[0]), lines };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -1;
	return syscall(SYS_close_range, FAR + 1, INT_MAX, 0) < 0 && errno == ENOSYS ? 0 : -1;
}

#define CANNOT 77

static void test_nor_has_it_more_on_an_old_kernel(void **state)
{
	int status;
	pid_t pid;

	if (!*state)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(be_an_old_kernel() < 0 ? CANNOT : helper_counts() != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_helper_has_its_socket_alone, far_one),
		cmocka_unit_test_setup(test_nor_has_it_more_on_an_old_kernel, far_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
