/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running ptxas; see ptxas.h. */
#define _GNU_SOURCE
#include "device/shim/variant/ptxas.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file_size.h"
#include "device/shim/base/shim.h"

#define USUAL_PTXAS "/usr/local/cuda/bin/ptxas"
#define STACK_BYTES ((size_t)64 << 10)
#define OPTIONS_MAX 32
#define NAP_NS (2 * GS_NS_PER_MS)
/* The child's descriptors; it has no others. */
#define FD_IN 3
#define FD_OUT 4

static pthread_once_t searched = PTHREAD_ONCE_INIT;
static char found[PATH_MAX];

static int is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static void search(void)
{
	const char *at = secure_getenv("PATH"), *end;

	for (; at && *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, ':');
		if (*at == '/' &&
		    (size_t)snprintf(found, sizeof(found), "%.*s/ptxas", (int)(end - at), at) <
			    sizeof(found) &&
		    is_program(found))
			return;
	}
	snprintf(found, sizeof(found), "%s", is_program(USUAL_PTXAS) ? USUAL_PTXAS : "");
}

const char *shim_ptxas_path(void)
{
	pthread_once(&searched, search);
	return found[0] ? found : NULL;
}

/* The architecture from .target: sm_90a is one of its own, for its own devices only. */
static void architecture(char *to, size_t size, const char *text, size_t len, uint32_t sm)
{
	const char *target = memmem(text, len, ".target", strlen(".target"));
	unsigned int of = 0;
	char variant = 0;

	if (target && sscanf(target, ".target sm_%u%c", &of, &variant) == 2 && of == sm &&
	    (variant == 'a' || variant == 'f'))
		snprintf(to, size, "-arch=sm_%u%c", sm, variant);
	else
		snprintf(to, size, "-arch=sm_%u", sm);
}

struct child {
	const char *program;
	char **argv;
	int in, out; /* descriptors above FD_OUT */
};

/* Runs in the child, on a stack of its own but in the parent's memory; the parent's thread waits
 * until the child has become another program. */
static int become_ptxas(void *arg)
{
	static char *const environment[] = { (char *)(uintptr_t) "PATH=/usr/bin:/bin",
					     (char *)(uintptr_t) "LC_ALL=C", NULL };
	const struct child *c = arg;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null < 0)
		_exit(1);
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			_exit(1);
	if (dup2(c->in, FD_IN) < 0 || dup2(c->out, FD_OUT) < 0)
		_exit(1);
	syscall(SYS_close_range, FD_OUT + 1, ~0U, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(c->program, c->argv, environment);
	_exit(127);
}

/* Starts the child. Its end sends no SIGCHLD, and wait() without __WALL does not see it. Returns -1
 * with errno on failure. */
static pid_t start(struct child *c)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, was;
	pid_t pid;

	if (stack == MAP_FAILED)
		return -1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	pid = clone(become_ptxas, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, c);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	munmap(stack, STACK_BYTES);
	return pid;
}

/* Returns 0 if the child has ended successfully. */
static int wait_for(pid_t pid, const _Atomic int *stop)
{
	static const struct timespec nap = { 0, NAP_NS };
	uint64_t until = gs_clock_ns() + SHIM_PTXAS_NS;
	int status = -1;
	pid_t rc;

	while ((rc = waitpid(pid, &status, __WALL | WNOHANG)) == 0 || (rc < 0 && errno == EINTR)) {
		if (*stop || gs_clock_ns() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, __WALL);
			return -1;
		}
		nanosleep(&nap, NULL);
	}
	return rc == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (size_t at = 0; at < len; at += (size_t)n) {
		n = write(fd, text + at, len - at);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return -1;
	}
	return 0;
}

static void *read_all(int fd, size_t *len)
{
	struct stat st;
	void *data;

	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return NULL;
	*len = (size_t)st.st_size;
	data = malloc(*len);
	if (data && pread(fd, data, *len, 0) != st.st_size) {
		free(data);
		data = NULL;
	}
	return data;
}

/* Makes a file in memory, with a descriptor that the child's own do not overwrite. */
static int memory_file(const char *name)
{
	int low = memfd_create(name, MFD_CLOEXEC), fd;

	fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, FD_OUT + 1);
	if (low >= 0)
		close(low);
	return fd;
}

static int run(const char *ptxas, char **argv, int in, int out, const _Atomic int *stop)
{
	struct child c = { ptxas, argv, in, out };
	pid_t pid = start(&c);

	if (pid > 0 && wait_for(pid, stop) == 0)
		return 0;
	shim_log(pid > 0 ? "%s could not compile a variant" : "%s cannot be run", ptxas);
	return -1;
}

void *shim_ptxas(const char *ptxas, const char *text, size_t len, uint32_t sm, const char *options,
		 const _Atomic int *stop, size_t *code_len)
{
	char arch[32], *words = options ? strdup(options) : NULL, *rest = NULL;
	char *argv[OPTIONS_MAX + 8] = { (char *)(uintptr_t) "ptxas", arch, (char *)(uintptr_t) "-o",
					(char *)(uintptr_t) "/proc/self/fd/4",
					(char *)(uintptr_t) "/proc/self/fd/3" };
	int in = memory_file("gpushare-ptx"), out = memory_file("gpushare-cubin"), n = 5;
	void *code = NULL;

	architecture(arch, sizeof(arch), text, len, sm);
	for (char *word = words ? strtok_r(words, " ", &rest) : NULL; word && n < OPTIONS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		argv[n++] = word;
	if (in >= 0 && out >= 0 && gs_file_may_have(len) && write_all(in, text, len) == 0 &&
	    run(ptxas, argv, in, out, stop) == 0)
		code = read_all(out, code_len);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	free(words);
	return code;
}
