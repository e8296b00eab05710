/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api WORD...: a program that uses gpushare.h, one word after the other.
 *   set=N reset begin end   the call of that name; prints its result
 *   thread=N treset         the same for the priority of the program's only thread
 *   stream=N sreset         the same for that of a stream, in which all kernels run from then on
 *   report                  prints the figures
 *   run=MS                  one kernel of about that length; prints when it began and ended
 *   wait=FILE               until that file is there
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpushare/api/gpushare.h"

#define THREADS 64
#define TRIAL 128

/* A block sleeps: its length is the same on a busy machine, and takes nothing from it. */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry last(.param .u64 p)\n"
			  "{\n"
			  "	.reg .b32 %r<2>;\n"
			  "	.reg .b64 %rd<2>;\n"
			  "	ld.param.u64 %rd1, [p];\n"
			  "	mov.u32 %r1, 1;\n"
			  "	nanosleep.u32 100000;\n"
			  "	st.global.u32 [%rd1], %r1;\n"
			  "	ret;\n"
			  "}\n";

#define CHECK(call) check(call, #call)
static void check(CUresult rc, const char *call)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", call, (int)rc);
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static CUfunction kernel;
static CUdeviceptr word;
static CUstream stream;

static double launch(unsigned int blocks)
{
	void *params[] = { &word };
	double begun = now();

	CHECK(cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
	CHECK(cuCtxSynchronize());
	return now() - begun;
}

static void begin(void)
{
	CUdevice device;
	CUcontext ctx;
	CUmodule module;

	if (kernel)
		return;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, device));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&kernel, module, "last"));
	CHECK(cuMemAlloc(&word, sizeof(unsigned int)));
}

static int of_stream(int priority)
{
	begin();
	if (!stream)
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return priority < 0 ? gpushare_reset_stream_priority(stream) :
			      gpushare_set_stream_priority(stream, priority);
}

static void run(double ms)
{
	static double each;
	double begun;

	begin();
	if (each == 0) {
		launch(TRIAL);
		each = launch(TRIAL);
		for (int i = 0; i < 4;
		     i++) { /* the least: another program's time is not this one's */
			double again = launch(TRIAL);

			each = again < each ? again : each;
		}
		each /= TRIAL;
	}
	begun = now();
	printf("begun %.3f\n", begun);
	fflush(stdout);
	launch((unsigned int)(ms / each) + 1);
	printf("ended %.3f\n", now());
}

static void report(void)
{
	struct gpushare_report r;
	int rc = gpushare_get_report(&r);

	printf("report: %s\n", gpushare_strerror(rc));
	if (rc == GPUSHARE_OK)
		printf("priority=%u job_priority=%u shares=%u launches=%llu preemptions=%llu memory_used=%llu memory_reserved=%llu active_ns=%llu\n",
		       r.priority, r.job_priority, r.shares, (unsigned long long)r.launches,
		       (unsigned long long)r.preemptions, (unsigned long long)r.memory_used,
		       (unsigned long long)r.memory_reserved, (unsigned long long)r.active_ns);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *w = argv[i], *value = strchr(w, '=') ? strchr(w, '=') + 1 : "";

		if (strncmp(w, "set=", 4) == 0)
			printf("%s: %s\n", w,
			       gpushare_strerror(gpushare_set_priority(atoi(value))));
		else if (strcmp(w, "reset") == 0)
			printf("%s: %s\n", w, gpushare_strerror(gpushare_reset_priority()));
		else if (strcmp(w, "begin") == 0)
			printf("%s: %s\n", w, gpushare_strerror(gpushare_begin_critical()));
		else if (strcmp(w, "end") == 0)
			printf("%s: %s\n", w, gpushare_strerror(gpushare_end_critical()));
		else if (strncmp(w, "thread=", 7) == 0)
			printf("%s: %s\n", w,
			       gpushare_strerror(gpushare_set_thread_priority(atoi(value))));
		else if (strcmp(w, "treset") == 0)
			printf("%s: %s\n", w, gpushare_strerror(gpushare_reset_thread_priority()));
		else if (strncmp(w, "stream=", 7) == 0)
			printf("%s: %s\n", w, gpushare_strerror(of_stream(atoi(value))));
		else if (strcmp(w, "sreset") == 0)
			printf("%s: %s\n", w, gpushare_strerror(of_stream(-1)));
		else if (strcmp(w, "report") == 0)
			report();
		else if (strncmp(w, "run=", 4) == 0)
			run(atof(value));
		else if (strncmp(w, "wait=", 5) == 0)
			while (access(value, F_OK) != 0)
				usleep(10000);
		else
			return 2;
		fflush(stdout);
	}
	return 0;
}
