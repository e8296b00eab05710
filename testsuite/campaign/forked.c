/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forked WAY MS: with kernels out it forks a child that lives for MS milliseconds, and is killed
 * (row A4 of the campaign).  The child's number is its line of output.
 *
 * WAY: sleep (the child has copies of all that the parent had open), exec (what is not closed at
 * exec), cuda (the child calls the driver, which may refuse everything: the parent's context is not
 * its own), start (the child runs this program anew, with a kernel of its own, and says whether
 * that was right).
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../e2e/check.h"

#define BLOCKS 256u
#define THREADS 64u

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry spin(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  "	.reg .pred %p1;\n"
			  "	.reg .b32 %r<3>;\n"
			  "	.reg .b64 %rd<2>;\n"
			  "	ld.param.u64 %rd1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "AGAIN:\n"
			  "	sub.u32 %r1, %r1, 1;\n"
			  "	setp.ne.u32 %p1, %r1, 0;\n"
			  "	@%p1 bra AGAIN;\n"
			  "	atom.global.add.u32 %r2, [%rd1], 1;\n"
			  "	ret;\n"
			  "}\n";

static CUfunction kernel;
static CUdeviceptr counter;

static CUresult launch(uint32_t n)
{
	void *params[] = { &counter, &n };

	return cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
}

static void start(void)
{
	CUmodule module;

	kernel = start_with(ptx, "spin", &module);
	CHECK(cuMemAlloc(&counter, sizeof(uint32_t)));
	CHECK(cuMemsetD32(counter, 0, 1));
}

/* A program of its own: each thread counts once. */
static int alone(void)
{
	uint32_t n;

	start();
	CHECK(launch(100));
	CHECK(cuMemcpyDtoH(&n, counter, sizeof(n)));
	expect(n == BLOCKS * THREADS, "each thread counts once");
	printf("child: %s\n", failures ? "FAILED" : "right");
	return failures != 0;
}

static void child(const char *self, const char *way, unsigned int ms)
{
	char seconds[16];
	CUdeviceptr d;

	if (strcmp(way, "exec") == 0) {
		snprintf(seconds, sizeof(seconds), "%u.%03u", ms / 1000, ms % 1000);
		execlp("sleep", "sleep", seconds, (char *)NULL);
		_exit(1);
	}
	if (strcmp(way, "start") == 0) {
		usleep(ms * 1000);
		execl(self, self, "alone", "0", (char *)NULL);
		_exit(1);
	}
	if (strcmp(way, "cuda") == 0) {
		(void)cuInit(0);
		(void)launch(10);
		(void)cuMemAlloc(&d, 4096);
		(void)cuCtxSynchronize();
	}
	usleep(ms * 1000);
	_exit(0);
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "alone") == 0)
		return alone();
	start();
	for (int i = 0; i < 20; i++)
		CHECK(launch(1200));
	pid = fork();
	if (pid == 0)
		child(argv[0], argv[1], (unsigned int)atoi(argv[2]));
	printf("child %d\n", (int)pid);
	fflush(stdout);
	kill(getpid(), SIGKILL);
	return 1;
}
