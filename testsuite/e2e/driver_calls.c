/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * driver_calls PROGRAM [ARGUMENT]...: prints what the program has the kernel do that a
 * library's constructor should not: the files that it opens or makes, threads
 * and processes, sockets.  Exit status: the program's, 77 where nobody may trace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/ptrace.h>
#include <unistd.h>

#define NOT_HERE 77

/* Text of the stopped program, as far as it can be read. */
static void copy_text(pid_t pid, uint64_t at, char *text, size_t size)
{
	size_t n = 0;

	while (n + sizeof(long) < size) {
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)(at + n), NULL);
		if (errno)
			break;
		memcpy(text + n, &word, sizeof(word));
		if (memchr(text + n, 0, sizeof(word)))
			return;
		n += sizeof(word);
	}
	text[n] = '\0';
}

static void say(pid_t pid, const struct ptrace_syscall_info *info)
{
	const char *what = NULL;
	char path[PATH_MAX];

	switch (info->entry.nr) {
	case SYS_openat:
	case SYS_mkdirat:
		copy_text(pid, info->entry.args[1], path, sizeof(path));
		printf("file %s\n", path);
		return;
#ifdef SYS_open
	case SYS_open:
	case SYS_mkdir:
		copy_text(pid, info->entry.args[0], path, sizeof(path));
		printf("file %s\n", path);
		return;
	case SYS_fork:
	case SYS_vfork:
#endif
	case SYS_clone:
	case SYS_clone3:
		what = "thread or process";
		break;
	case SYS_socket:
	case SYS_socketpair:
		what = "socket";
		break;
	case SYS_memfd_create:
		what = "memory file";
		break;
	}
	if (what)
		printf("%s\n", what);
}

static int watch(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) < 0)
		return NOT_HERE;
	for (int pass = 0;;) {
		struct ptrace_syscall_info info;

		if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)pass) < 0 ||
		    waitpid(pid, &status, 0) != pid)
			return NOT_HERE;
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		pass = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) & 0x80 ? 0 :
										WSTOPSIG(status);
		if (!(WSTOPSIG(status) & 0x80))
			continue;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) <= 0)
			return NOT_HERE;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			say(pid, &info);
	}
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(NOT_HERE);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	return pid < 0 ? NOT_HERE : watch(pid);
}
