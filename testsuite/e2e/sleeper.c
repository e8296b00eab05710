/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sleeper MIB CALL FILE: a notebook that sleeps.  It fills so much device memory, says so in FILE,
 * and calls nothing until FILE is gone.  Its next call is CALL: copy, launch, alloc, free, sync,
 * query or address (a call of a function that cuGetProcAddress has given); then it checks its
 * memory and says how long that call took.  CALL managed has allocated managed memory before, and
 * inside leaves a thread in a call that does not return until FILE is gone; naps has two threads
 * that sleep for a moment and call something, again and again, until then.  CALL again frees, says
 * so in FILE.freed, and allocates as much again once that is gone.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry touch(.param .u64 word)\n"
			  "{\n"
			  "	.reg .b32 %r<2>;\n"
			  "	.reg .b64 %rd<2>;\n"
			  "	ld.param.u64 %rd1, [word];\n"
			  "	cvta.to.global.u64 %rd1, %rd1;\n"
			  "	ld.global.u32 %r1, [%rd1];\n"
			  "	st.global.u32 [%rd1], %r1;\n"
			  "	ret;\n"
			  "}\n";

static const char *file;
static CUcontext ctx;
static CUdeviceptr p, other;
static CUfunction touch;
static CUevent event;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sleep_while_there(void)
{
	while (access(file, F_OK) == 0)
		usleep(5000);
}

/* The driver calls this within cuLaunchHostFunc's stream, for which the other thread waits. */
static void until_gone(void *unused)
{
	(void)unused;
	sleep_while_there();
}

static void *wait_inside(void *stream)
{
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuLaunchHostFunc(stream, until_gone, NULL));
	CHECK(cuStreamSynchronize(stream));
	return NULL;
}

#define AGAIN_BYTES (20 << 20)

static void free_and_allocate_again(void)
{
	char freed[512];
	FILE *f;

	CHECK(cuMemFree(other));
	snprintf(freed, sizeof(freed), "%s.freed", file);
	f = fopen(freed, "w");
	if (!f || fclose(f) != 0)
		exit(2);
	while (access(freed, F_OK) == 0)
		usleep(5000);
	CHECK(cuMemAlloc(&other, AGAIN_BYTES));
}

static void call(const char *what)
{
	void *args[] = { &p };
	uint32_t word;

	if (strcmp(what, "launch") == 0)
		CHECK(cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	else if (strcmp(what, "alloc") == 0)
		CHECK(cuMemAlloc(&other, 30 << 20));
	else if (strcmp(what, "free") == 0)
		CHECK(cuMemFree(other));
	else if (strcmp(what, "again") == 0)
		free_and_allocate_again();
	else if (strcmp(what, "sync") == 0)
		CHECK(cuCtxSynchronize());
	else if (strcmp(what, "query") == 0)
		CHECK(cuEventQuery(event));
	else if (strcmp(what, "address") == 0) {
		CUresult (*query)(CUevent e);
		void *found = NULL;

		CHECK(cuGetProcAddress("cuEventQuery", &found, 12000, 0, NULL));
		memcpy(&query, &found, sizeof(query));
		CHECK(query(event));
	} else {
		CHECK(cuMemcpyDtoH(&word, p, sizeof(word)));
	}
}

#define NAP_MOST_US 1500000

static atomic_uint naps;

static void *nap(void *seed)
{
	static const char *const calls[] = { "copy", "launch", "sync", "query", "address" };
	unsigned random = (unsigned)(uintptr_t)seed;
	unsigned char some[4096];

	CHECK(cuCtxSetCurrent(ctx));
	while (access(file, F_OK) == 0) {
		usleep((useconds_t)rand_r(&random) % NAP_MOST_US);
		call(calls[(unsigned)rand_r(&random) % (sizeof(calls) / sizeof(calls[0]))]);
		CHECK(cuMemcpyDtoH(some, p + 8192, sizeof(some)));
		for (size_t i = 0; i < sizeof(some); i++)
			expect(some[i] == 0x5a, "its memory is as it was between two naps");
		naps++;
	}
	return NULL;
}

static void take_naps(void)
{
	pthread_t second;

	if (pthread_create(&second, NULL, nap, (void *)(uintptr_t)getpid()))
		exit(2);
	nap((void *)(uintptr_t)(getpid() + 1));
	pthread_join(second, NULL);
	printf("sleeper: %u naps\n", (unsigned)naps);
}

static void prepare(const char *what)
{
	CUdeviceptr managed;
	CUmodule module;

	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&touch, module, "touch"));
	CHECK(cuEventCreate(&event, 0));
	CHECK(cuMemAlloc(&other, strcmp(what, "again") == 0 ? AGAIN_BYTES : 1 << 20));
	call("launch");
	CHECK(cuCtxSynchronize());
	if (strcmp(what, "managed") == 0)
		CHECK(cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL));
}

int main(int argc, char **argv)
{
	const char *what = argc == 4 ? argv[2] : "";
	size_t bytes = argc == 4 ? (size_t)atol(argv[1]) << 20 : 0, wrong = 0;
	unsigned char *host = malloc(bytes);
	pthread_t thread;
	CUstream stream;
	CUdevice dev;
	double t;
	FILE *f;

	if (!bytes || !host) {
		fputs("usage: sleeper MIB CALL FILE\n", stderr);
		return 2;
	}
	file = argv[3];
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuCtxCreate(&ctx, NULL, 0, dev));
	CHECK(cuMemAlloc(&p, bytes));
	memset(host, 0x5a, bytes);
	CHECK(cuMemcpyHtoD(p, host, bytes));
	prepare(what);
	f = fopen(file, "w");
	if (!f)
		return 2;
	fprintf(f, "ready %d\n", (int)getpid());
	fclose(f);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	if (strcmp(what, "inside") == 0 && pthread_create(&thread, NULL, wait_inside, stream))
		return 2;
	if (strcmp(what, "naps") == 0)
		take_naps();
	sleep_while_there();
	if (strcmp(what, "inside") == 0)
		pthread_join(thread, NULL);
	t = now_s();
	call(what);
	t = now_s() - t;
	memset(host, 0, bytes);
	CHECK(cuMemcpyDtoH(host, p, bytes));
	for (size_t i = 0; i < bytes; i++)
		wrong += host[i] != 0x5a;
	expect(wrong == 0, "its memory is as it was");
	printf("sleeper: %s took %.3f s, %zu bytes wrong\n", what, t, wrong);
	free(host);
	return failures != 0;
}
