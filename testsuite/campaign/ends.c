/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ends PLACE WAY US: a program that ends itself in a place where programs rarely do, while kernels are out
 * (row A5 of the campaign).
 *
 * PLACE: main, hostfunc, callback, thread, signal (which comes US microseconds after the first launch, and
 * again), atexit, destructor, dlclose (main, when the driver's library has been opened and closed again).
 * WAY: exit (status 3), _exit (4), abort (134).  At atexit and destructor the way is what ends main, and the
 * handler still calls the driver.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../e2e/check.h"

#define THREADS 64u
#define BLOCKS 64u

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry spin(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  "	.reg .pred %p1;\n"
			  "	.reg .b32 %r<3>;\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "AGAIN:\n"
			  "	sub.u32 %r1, %r1, 1;\n"
			  "	setp.ne.u32 %p1, %r1, 0;\n"
			  "	@%p1 bra AGAIN;\n"
			  "	ret;\n"
			  "}\n";

static const char *place, *way;
static CUfunction kernel;
static CUcontext context;
static CUdeviceptr memory;

static void launch(CUstream stream)
{
	uint32_t n = 500;
	void *params[] = { &memory, &n };

	CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

static void end(void)
{
	if (strcmp(way, "exit") == 0)
		exit(3);
	if (strcmp(way, "_exit") == 0)
		_exit(4);
	abort();
}

static void on_signal(int number)
{
	(void)number;
	end();
}

static void hostfunc(void *unused)
{
	(void)unused;
	end();
}

static void CUDAAPI callback(CUstream stream, CUresult rc, void *unused)
{
	(void)stream;
	(void)rc;
	(void)unused;
	end();
}

static void *thread(void *us)
{
	usleep(*(useconds_t *)us);
	end();
	return NULL;
}

/* At the end the driver may refuse what it likes; it must answer. */
static void call_late(void)
{
	uint32_t n = 10;
	void *params[] = { &memory, &n };
	CUdeviceptr d;

	(void)cuCtxSetCurrent(context);
	(void)cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
	(void)cuCtxSynchronize();
	if (cuMemAlloc(&d, 4096) == CUDA_SUCCESS)
		(void)cuMemFree(d);
}

__attribute__((destructor)) static void at_unload(void)
{
	if (place && strcmp(place, "destructor") == 0)
		call_late();
}

static void open_and_close(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	dlclose(library);
}

static void prepare(useconds_t *us)
{
	struct itimerval at = { { 0, 1000 }, { *us / 1000000, *us % 1000000 } };
	pthread_t other;

	if (strcmp(place, "hostfunc") == 0)
		CHECK(cuLaunchHostFunc(NULL, hostfunc, NULL));
	else if (strcmp(place, "callback") == 0)
		CHECK(cuStreamAddCallback(NULL, callback, NULL, 0));
	else if (strcmp(place, "thread") == 0)
		expect(pthread_create(&other, NULL, thread, us) == 0, "a thread begins");
	else if (strcmp(place, "dlclose") == 0)
		open_and_close();
	else if (strcmp(place, "signal") == 0 &&
		 (signal(SIGALRM, on_signal) == SIG_ERR || setitimer(ITIMER_REAL, &at, NULL)))
		_exit(1);
}

int main(int argc, char **argv)
{
	useconds_t us;
	CUmodule module;
	int ends_itself;

	if (argc != 4)
		return 2;
	place = argv[1];
	way = argv[2];
	us = (useconds_t)atoi(argv[3]) + 1;
	if (strcmp(place, "atexit") == 0)
		atexit(call_late);
	kernel = start_with(ptx, "spin", &module);
	CHECK(cuCtxGetCurrent(&context));
	CHECK(cuMemAlloc(&memory, 4096));
	launch(NULL);
	prepare(&us);
	ends_itself = strcmp(place, "hostfunc") == 0 || strcmp(place, "callback") == 0 ||
		      strcmp(place, "thread") == 0 || strcmp(place, "signal") == 0;
	for (int i = 0; ends_itself || i < 20; i++) {
		CUdeviceptr d;

		launch(NULL);
		CHECK(cuMemAlloc(&d, 4096));
		CHECK(cuMemFree(d));
		if (i % 4 == 3)
			CHECK(cuCtxSynchronize());
	}
	end();
}
