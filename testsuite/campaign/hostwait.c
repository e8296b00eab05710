/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostwait HOW FILE: a kernel that spins on a word which the host writes, step by step, and answers
 * each step.  In the middle the host waits until FILE is gone.  HOW is one: a block of many steps;
 * many: a step for each of many blocks, one after the other; mutex: the same, and whoever writes
 * the word needs a mutex that another thread has while it launches kernels. Each step takes the
 * generator's next number: a block-task that ran twice, not at all or too early leaves a wrong one.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../e2e/check.h"

#define BLOCKS_MOST 512u
#define THREADS 64u
#define STEPS_OF_ONE 100u
#define LAUNCHES 2
#define LIMIT_S 100
#define NEXT(x) ((x)*1664525u + 1013904223u)

/* Block b waits before step i until *seen is more than b * steps + i, and says i + 1 in answer[b]
 * behind it. */
static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry waits(.param .u64 words, .param .u64 seen, .param .u64 answer, .param .u32 steps)\n"
	"{\n"
	"	.reg .pred %p<4>;\n"
	"	.reg .b32 %r<12>;\n"
	"	.reg .b64 %rd<8>;\n"
	"	ld.param.u64 %rd1, [words];\n"
	"	ld.param.u64 %rd2, [seen];\n"
	"	ld.param.u64 %rd3, [answer];\n"
	"	ld.param.u32 %r1, [steps];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	mul.wide.u32 %rd4, %r5, 4;\n"
	"	add.s64 %rd4, %rd1, %rd4;\n"
	"	mul.wide.u32 %rd5, %r2, 4;\n"
	"	add.s64 %rd5, %rd3, %rd5;\n"
	"	ld.global.u32 %r6, [%rd4];\n"
	"	mov.u32 %r7, 0;\n"
	"	mul.lo.u32 %r8, %r2, %r1;\n"
	"NEXT:\n"
	"	setp.ge.u32 %p1, %r7, %r1;\n"
	"	@%p1 bra OVER;\n"
	"WAIT:\n"
	"	ld.volatile.global.u32 %r9, [%rd2];\n"
	"	setp.gt.u32 %p2, %r9, %r8;\n"
	"	@%p2 bra STEP;\n"
	"	nanosleep.u32 100000;\n"
	"	bra WAIT;\n"
	"STEP:\n"
	"	mad.lo.s32 %r6, %r6, 1664525, 1013904223;\n"
	"	add.u32 %r7, %r7, 1;\n"
	"	add.u32 %r8, %r8, 1;\n"
	"	bar.sync 0;\n"
	"	setp.ne.u32 %p3, %r4, 0;\n"
	"	@%p3 bra NEXT;\n"
	"	st.volatile.global.u32 [%rd5], %r7;\n"
	"	bra NEXT;\n"
	"OVER:\n"
	"	st.global.u32 [%rd4], %r6;\n"
	"	ret;\n"
	"}\n";

static CUcontext ctx;
static CUfunction kernel;
static const char *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint32_t *seen, *answer;
static CUdeviceptr seen_there, answer_there;
static atomic_int over;

static volatile uint32_t *shared_words(uint32_t n, CUdeviceptr *there)
{
	void *p;

	CHECK(cuMemHostAlloc(&p, n * sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
	memset(p, 0, n * sizeof(uint32_t));
	CHECK(cuMemHostGetDevicePointer(there, p, 0));
	return p;
}

static CUdeviceptr words(uint32_t n)
{
	CUdeviceptr d;

	CHECK(cuMemAlloc(&d, n * sizeof(uint32_t)));
	CHECK(cuMemsetD32(d, 5, n));
	return d;
}

static void launch(CUdeviceptr d, uint32_t blocks, uint32_t steps, CUstream stream)
{
	void *params[] = { &d, &seen_there, &answer_there, &steps };

	CHECK(cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

static int right(CUdeviceptr d, uint32_t n, uint32_t steps)
{
	uint32_t *got = malloc(n * sizeof(*got)), want = 5, wrong = 0;

	if (!got)
		exit(1);
	CHECK(cuMemcpyDtoH(got, d, n * sizeof(*got)));
	while (steps--)
		want = NEXT(want);
	for (uint32_t i = 0; i < n; i++)
		wrong += got[i] != want;
	free(got);
	return wrong == 0;
}

/* The host's half: lets one step go and waits for its answer. */
static void leads(uint32_t blocks, uint32_t steps)
{
	for (uint32_t step = 0; step < blocks * steps; step++) {
		while (step == blocks * steps / 2 && access(file, F_OK) == 0)
			usleep(2000);
		pthread_mutex_lock(&lock);
		__atomic_store_n((uint32_t *)(uintptr_t)seen, step + 1, __ATOMIC_SEQ_CST);
		pthread_mutex_unlock(&lock);
		while (answer[step / steps] <= step % steps)
			usleep(100);
	}
	over = 1;
}

/*
 * Launches with the mutex held, in another stream, while the kernel waits for the host.  Few: the
 * driver, too, lets a launch wait when much is queued, and the shim does so for a second each
 * (src/device/shim/launch/queue.c).
 */
static void *launches(void *unused)
{
	CUstream stream;
	CUdeviceptr d;

	(void)unused;
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	d = words(THREADS);
	for (int i = 0; i < LAUNCHES && !over; i++) {
		pthread_mutex_lock(&lock);
		launch(d, 1, 0, stream);
		pthread_mutex_unlock(&lock);
		usleep(3000);
	}
	CHECK(cuStreamSynchronize(stream));
	expect(right(d, THREADS, 0), "a kernel of no steps changes nothing");
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc == 3 ? argv[1] : "";
	uint32_t blocks = strcmp(how, "one") == 0 ? 1 : BLOCKS_MOST;
	uint32_t steps = blocks == 1 ? STEPS_OF_ONE : 1;
	CUstream stream;
	CUmodule module;
	pthread_t beside;
	CUdeviceptr d;
	int mutex = strcmp(how, "mutex") == 0;

	if (argc != 3)
		return 2;
	alarm(LIMIT_S); /* a deadlock is a failure too */
	file = argv[2];
	kernel = start_with(ptx, "waits", &module);
	CHECK(cuCtxGetCurrent(&ctx));
	seen = shared_words(1, &seen_there);
	answer = shared_words(BLOCKS_MOST, &answer_there);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	d = words(blocks * THREADS);
	CHECK(cuCtxSynchronize());
	launch(d, blocks, steps, stream);
	if (mutex && pthread_create(&beside, NULL, launches, NULL))
		return 1;
	leads(blocks, steps);
	CHECK(cuStreamSynchronize(stream));
	if (mutex)
		pthread_join(beside, NULL);
	expect(right(d, blocks * THREADS, steps), "each word has taken its steps");
	printf("hostwait %s: %s\n", how, failures ? "FAILED" : "right");
	return failures != 0;
}
