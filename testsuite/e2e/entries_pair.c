/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two processes of one step at its limit: what one has the other cannot have, and an import costs
 * nothing. */
#define _GNU_SOURCE
#include "entries.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (8 * MIB)

extern char **environ;

enum order { ALLOC, FREE, OPEN, CLOSE, END };

struct message {
	enum order order;
	CUipcMemHandle handle;
};

struct answer {
	CUresult rc;
	size_t left; /* as cuMemGetInfo tells it */
};

static int to, from; /* the second one's standard input and output */
static pid_t second;

static void all(ssize_t did, size_t bytes)
{
	if (did == (ssize_t)bytes)
		return;
	fputs("entries: the other process is gone\n", stderr);
	exit(1);
}

static size_t left_over(void)
{
	size_t left, total;

	CHECK(cuMemGetInfo(&left, &total));
	return left;
}

int pair_second(void)
{
	CUdeviceptr p = 0;
	struct message m;

	while (read(STDIN_FILENO, &m, sizeof(m)) == sizeof(m) && m.order != END) {
		struct answer a = { CUDA_SUCCESS, 0 };

		switch (m.order) {
		case ALLOC:
			a.rc = cuMemAlloc(&p, SIZE);
			break;
		case FREE:
			a.rc = cuMemFree(p);
			break;
		case OPEN:
			a.rc = cuIpcOpenMemHandle(&p, m.handle, 1);
			break;
		default:
			a.rc = cuIpcCloseMemHandle(p);
			break;
		}
		a.left = left_over();
		all(write(STDOUT_FILENO, &a, sizeof(a)), sizeof(a));
	}
	return 0;
}

static struct answer tell(enum order order, const CUipcMemHandle *handle)
{
	struct message m;
	struct answer a = { CUDA_SUCCESS, 0 };

	memset(&m, 0, sizeof(m));
	m.order = order;
	if (handle)
		m.handle = *handle;
	all(write(to, &m, sizeof(m)), sizeof(m));
	if (order != END)
		all(read(from, &a, sizeof(a)), sizeof(a));
	return a;
}

static int start(void)
{
	char *const argv[] = { "entries", "second", NULL };
	posix_spawn_file_actions_t files;
	int in[2], out[2], rc;

	if (pipe(in) < 0 || pipe(out) < 0)
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&files, in[1]);
	posix_spawn_file_actions_addclose(&files, out[0]);
	rc = posix_spawn(&second, "/proc/self/exe", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
	return rc ? -1 : 0;
}

/* By turns one has it and the other is refused. */
static void by_turns(int times)
{
	int granted = 0, refused = 0;
	CUdeviceptr p, q;

	for (int i = 0; i < times; i++) {
		if (i % 2) {
			granted += cuMemAlloc(&p, SIZE) == CUDA_SUCCESS;
			refused += tell(ALLOC, NULL).rc == CUDA_ERROR_OUT_OF_MEMORY;
			CHECK(cuMemFree(p));
		} else {
			granted += tell(ALLOC, NULL).rc == CUDA_SUCCESS;
			refused += cuMemAlloc(&q, SIZE) == CUDA_ERROR_OUT_OF_MEMORY;
			CHECK(tell(FREE, NULL).rc);
		}
	}
	printf("two processes,%d,%d,%d\n", times, granted, refused);
	failures += granted != times || refused != times;
}

/* Granted: the other one has it open, at the same price for both; refused: memory of its own
 * meanwhile. */
static void imports(int times)
{
	OPTIONAL(, cuIpcGetMemHandle, CUipcMemHandle *, CUdeviceptr);
	int granted = 0, refused = 0;
	CUipcMemHandle handle;
	CUdeviceptr p, q;
	CUresult rc;

	CHECK(cuMemAlloc(&p, SIZE));
	rc = cuIpcGetMemHandle_(&handle, p);
	for (int i = 0; i < times && rc == CUDA_SUCCESS; i++) {
		size_t before = left_over();
		struct answer a = tell(OPEN, &handle);

		if (a.rc != CUDA_SUCCESS) {
			fprintf(stderr, "entries: cuIpcOpenMemHandle: %d\n", (int)a.rc);
			break;
		}
		granted += a.left == before && left_over() == before;
		refused += cuMemAlloc(&q, SIZE) == CUDA_ERROR_OUT_OF_MEMORY;
		CHECK(tell(CLOSE, NULL).rc);
	}
	CHECK(cuMemFree(p));
	if (rc != CUDA_SUCCESS) {
		printf("ipc,not on this device,,\n");
		return;
	}
	printf("ipc,%d,%d,%d\n", times, granted, refused);
	failures += granted != times || refused != times;
}

int pair(int times)
{
	static CUdeviceptr piece[4096];
	int n, status;

	if (times < 1 || start() < 0)
		return 2;
	/* It is in the step before what is left is filled. */
	CHECK(tell(ALLOC, NULL).rc);
	CHECK(tell(FREE, NULL).rc);
	n = fill(SIZE + SIZE / 2, piece, 4096);
	by_turns(times);
	imports(times);
	while (n--)
		CHECK(cuMemFree(piece[n]));
	tell(END, NULL);
	if (waitpid(second, &status, 0) != second || status)
		failures++;
	return failures != 0;
}
