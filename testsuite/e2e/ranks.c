/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranks FILE RANKS RANK STEPS: one rank of a data-parallel program. Each of its steps computes, and
 * then adds up a number of all ranks in a kernel that waits on the GPU for the other ranks'
 * kernels, as NCCL's all-reduce does; FILE is the memory that they share.
 *
 * A rank whose kernel is kept from its GPU keeps all the others waiting on theirs.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define RANKS_MAX 16
#define LINE \
	64 /* each rank's words: the step that it is in, and its numbers of an even and an odd one \
	    */
#define BYTES 4096
#define BLOCKS 64u
#define SLEEPS 3u /* of 100 us, of each block */

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry compute(.param .u64 words, .param .u32 sleeps)\n"
	"{\n"
	"	.reg .pred %p1;\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [words];\n"
	"	ld.param.u32 %r1, [sleeps];\n"
	"	cvta.to.global.u64 %rd2, %rd1;\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mul.wide.u32 %rd3, %r2, 4;\n"
	"	add.s64 %rd2, %rd2, %rd3;\n"
	"AGAIN:\n"
	"	nanosleep.u32 100000;\n"
	"	sub.u32 %r1, %r1, 1;\n"
	"	setp.ne.u32 %p1, %r1, 0;\n"
	"	@%p1 bra AGAIN;\n"
	"	ld.global.u32 %r3, [%rd2];\n"
	"	add.u32 %r3, %r3, 1;\n"
	"	st.global.u32 [%rd2], %r3;\n"
	"	ret;\n"
	"}\n"
	/* all: the shared memory; mine: this rank's line; number: what it adds */
	".visible .entry reduce(.param .u64 all, .param .u64 mine, .param .u64 sum, .param .u32 ranks, .param .u32 step, .param .u32 number)\n"
	"{\n"
	"	.reg .pred %p1;\n"
	"	.reg .b32 %r<9>;\n"
	"	.reg .b64 %rd<8>;\n"
	"	ld.param.u64 %rd1, [all];\n"
	"	ld.param.u64 %rd2, [mine];\n"
	"	ld.param.u64 %rd3, [sum];\n"
	"	ld.param.u32 %r1, [ranks];\n"
	"	ld.param.u32 %r2, [step];\n"
	"	ld.param.u32 %r3, [number];\n"
	"	cvta.to.global.u64 %rd1, %rd1;\n"
	"	cvta.to.global.u64 %rd2, %rd2;\n"
	"	cvta.to.global.u64 %rd3, %rd3;\n"
	"	and.b32 %r4, %r2, 1;\n" /* 4 or 8 bytes behind the line's begin */
	"	add.u32 %r4, %r4, 1;\n"
	"	mul.wide.u32 %rd4, %r4, 4;\n"
	"	add.s64 %rd5, %rd2, %rd4;\n"
	"	st.volatile.global.u32 [%rd5], %r3;\n"
	"	membar.sys;\n"
	"	st.volatile.global.u32 [%rd2], %r2;\n"
	"	mov.u32 %r5, 0;\n"
	"	bra OTHER;\n"
	"LATER:\n" /* it keeps its GPU, but takes no processor from the other ranks */
	"	nanosleep.u32 100000;\n"
	"OTHER:\n"
	"	ld.volatile.global.u32 %r6, [%rd1];\n"
	"	setp.lt.u32 %p1, %r6, %r2;\n"
	"	@%p1 bra LATER;\n"
	"	membar.sys;\n"
	"	add.s64 %rd6, %rd1, %rd4;\n"
	"	ld.volatile.global.u32 %r7, [%rd6];\n"
	"	add.u32 %r5, %r5, %r7;\n"
	"	add.s64 %rd1, %rd1, 64;\n"
	"	sub.u32 %r1, %r1, 1;\n"
	"	setp.ne.u32 %p1, %r1, 0;\n"
	"	@%p1 bra OTHER;\n"
	"	st.global.u32 [%rd3], %r5;\n"
	"	ret;\n"
	"}\n";

/* The file's page, on the device. */
static CUdeviceptr share(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	CUdeviceptr seen;
	void *p;

	if (fd < 0 || ftruncate(fd, BYTES) < 0)
		exit(2);
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		exit(2);
	close(fd);
	CHECK(cuMemHostRegister(p, BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
	CHECK(cuMemHostGetDevicePointer(&seen, p, 0));
	return seen;
}

/* Of all ranks, in that step. */
static uint32_t sum_of(uint32_t ranks, uint32_t step)
{
	uint32_t sum = 0;

	for (uint32_t r = 0; r < ranks; r++)
		sum += 1000 * r + step;
	return sum;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	double longest = 0;
	uint32_t ranks, rank, steps, sleeps = SLEEPS, sum;
	CUdeviceptr all, mine, words, result;
	CUfunction compute, reduce;
	CUmodule module;

	if (argc != 5)
		return 2;
	ranks = (uint32_t)atoi(argv[2]);
	rank = (uint32_t)atoi(argv[3]);
	steps = (uint32_t)atoi(argv[4]);
	if (!ranks || ranks > RANKS_MAX || rank >= ranks)
		return 2;
	compute = start_with(ptx, "compute", &module);
	CHECK(cuModuleGetFunction(&reduce, module, "reduce"));
	all = share(argv[1]);
	mine = all + rank * LINE;
	CHECK(cuMemAlloc(&words, BLOCKS * 4));
	CHECK(cuMemsetD32(words, 0, BLOCKS));
	CHECK(cuMemAlloc(&result, 4));
	for (uint32_t step = 1; step <= steps; step++) {
		uint32_t number = 1000 * rank + step;
		double begin = now_ms();
		void *of_compute[] = { &words, &sleeps };
		void *of_reduce[] = { &all, &mine, &result, &ranks, &step, &number };

		CHECK(cuLaunchKernel(compute, BLOCKS, 1, 1, 32, 1, 1, 0, NULL, of_compute, NULL));
		CHECK(cuLaunchKernel(reduce, 1, 1, 1, 1, 1, 1, 0, NULL, of_reduce, NULL));
		CHECK(cuMemcpyDtoH(&sum, result, sizeof(sum)));
		expect(sum == sum_of(ranks, step), "a step has the sum of all ranks");
		if (step > 1 &&
		    now_ms() - begin > longest) /* the first one waits for the others to start */
			longest = now_ms() - begin;
	}
	printf("rank %u of %u: %u steps, the longest %.0f ms, %s\n", rank, ranks, steps, longest,
	       failures ? "WRONG" : "right");
	return failures != 0;
}
